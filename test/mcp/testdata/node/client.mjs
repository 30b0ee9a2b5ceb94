// A client of flowrun by the protocol's SDK for TypeScript: it holds answers to the schemas
// that the tools declare. Arguments: the program of the server and its arguments, or an
// address with the token in TOKEN. It prints what it saw as one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } })
  : new StdioClientTransport({ command: target, args, env: process.env });
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: {} };
});
await client.connect(transport);
const tools = (await client.listTools()).tools;
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  return result.isError ? { error: result.content[0].text } : result.structuredContent;
};
const text = "flowrun: v1\nname: typed\nsteps:\n  - {id: s, let: {n: 1}}\noutputs: {n: \"${{ steps.s.outputs.n }}\"}\n";
const seen = {
  tools: tools.map((tool) => tool.name).sort(),
  valid: (await call("validate", { text })).valid,
  wrong: (await call("validate", { text: text.replace("let", "lett") })).problems.length,
  explained: (await call("explain", { topic: "core.approve" })).kind,
  found: (await call("actions_search", { query: "approve" })).found,
  workflows: (await call("workflows", {})).workflows.length,
  planned: (await call("plan", { workflow: "hello" })).plan_id,
  tested: await call("test", { workflow: "hello" }),
  run: await call("run", { workflow: "hello" }),
  guide: (await client.readResource({ uri: "flowrun://docs/guide" })).contents[0].text.length,
  templates: (await client.listResourceTemplates()).resourceTemplates.length,
  prompt: (await client.getPrompt({ name: "write_workflow", arguments: { goal: "greet" } })).messages.length,
};
if (seen.run.run) {
  seen.shown = (await call("run_show", { run: seen.run.run })).status;
  seen.logs = (await call("run_logs", { run: seen.run.run })).lines.length;
}
seen.asked = asked;
await client.close();
console.log(JSON.stringify(seen));

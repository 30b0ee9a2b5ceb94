// The service of the peer: steps one after the other, and at once, each recorded by
// Restate. It says on which port it listens.
import "./older-node.mjs";
import * as restate from "@restatedev/restate-sdk";
import * as http2 from "node:http2";

const steps = restate.service({
  name: "steps",
  handlers: {
    sequence: async (ctx, n) => {
      for (let i = 0; i < n; i++) {
        await ctx.run(`s${i}`, () => i);
      }
      return n;
    },
    fan: async (ctx, n) => {
      const all = [];
      for (let i = 0; i < n; i++) {
        all.push(ctx.run(`s${i}`, () => i));
      }
      await restate.RestatePromise.all(all);
      return n;
    },
  },
});

const server = http2.createServer(restate.createEndpointHandler({ services: [steps] }));
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

// A server that takes mail, of npm's smtp-server; what it got is read by mailparser. Settings
// come as JSON in the first argument; on stdout it says its port, then one line a message.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

const settings = JSON.parse(process.argv[2]);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const addresses = (field) => (field?.value ?? []).map(({ name, address }) => ({ name, address }));

const server = new SMTPServer({
  secure: settings.secure,
  key: settings.key && readFileSync(settings.key),
  cert: settings.key && readFileSync(settings.cert),
  hideSTARTTLS: settings.noTLS,
  authMethods: settings.methods,
  authOptional: !settings.user,
  allowInsecureAuth: false,
  size: settings.size,
  logger: false,
  onAuth(auth, session, done) {
    const good = auth.username === settings.user &&
      (auth.method === "CRAM-MD5" ? auth.validatePassword(settings.password) : (auth.password ?? auth.accessToken) === settings.password);
    if (good) return done(null, { user: auth.username });
    return done(null, { data: { status: "401", schemes: "bearer", scope: "mail" } });
  },
  onRcptTo(address, session, done) {
    if (address.address.endsWith("@refused.example")) return done(Object.assign(new Error("5.1.1 No such user"), { responseCode: 550 }));
    return done();
  },
  onData(stream, session, done) {
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", async () => {
      const raw = Buffer.concat(chunks);
      const m = await simpleParser(raw, { skipImageLinks: true });
      say({
        secure: session.secure, user: session.user ?? "", hello: session.hostNameAppearsAs,
        from: session.envelope.mailFrom.address, to: session.envelope.rcptTo.map((one) => one.address),
        size: raw.length, longest: Math.max(...raw.toString("latin1").split("\r\n").map((line) => line.length)), bare: /[^\r]\n|\r[^\n]/.test(raw.toString("latin1")),
        subject: m.subject, messageId: m.messageId, inReplyTo: m.inReplyTo ?? "", text: m.text ?? "", html: m.html || "", date: m.date,
        headerFrom: addresses(m.from), headerTo: addresses(m.to), headerCc: addresses(m.cc), replyTo: addresses(m.replyTo), bcc: addresses(m.bcc),
        report: String(m.headers.get("x-report") ?? ""), auto: String(m.headers.get("auto-submitted") ?? ""),
        attachments: m.attachments.map((a) => ({ filename: a.filename, contentType: a.contentType, size: a.size, sha256: createHash("sha256").update(a.content).digest("hex") })),
      });
      done(null, settings.answer ?? "2.0.0 taken");
    });
  },
});
server.on("error", () => {}); // a client that goes is its own affair
server.listen(0, "127.0.0.1", () => say({ port: server.server.address().port }));
process.stdin.resume().on("end", () => process.exit(0));

#!/usr/bin/env node
'use strict';
if (process.env.FLOWRUN_PLUGIN !== 'flowrun.plugin.v1') { console.error('a plugin of flowrun'); process.exit(2); }
const D = __dirname + '/node_modules/';
const grpc = require(D + '@grpc/grpc-js'), loader = require(D + '@grpc/proto-loader'), path = require('path'), fs = require('fs');
const P = __dirname + '/plugin.proto';
const pkg = grpc.loadPackageDefinition(loader.loadSync(P, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true, includeDirs: [D + 'protobufjs'] })).flowrun.plugin.v1;
const token = process.env.FLOWRUN_LAUNCH_TOKEN || '';
const guard = fn => (call, cb) => { const t = call.metadata.get('flowrun-launch-token')[0] || ''; if (token && t !== token) { const e = { code: grpc.status.UNAUTHENTICATED, message: 'token' }; return cb ? cb(e) : call.destroy(Object.assign(new Error('token'), e)); } fn(call, cb); };
const j = o => Buffer.from(JSON.stringify(o));
const s = new grpc.Server({ 'grpc.max_receive_message_length': 64 << 20 });
s.addService(pkg.Plugin.service, {
  Describe: guard((c, cb) => cb(null, { name: 'nd', version: '1.0.0', sdk: 'node-by-hand', doc: 'Node', config_schema: j({ type: 'object' }), actions: [{ name: 'get', doc: 'GET a URL', effect: 'EFFECT_READ', input_schema: j({ type: 'object', properties: { url: { type: 'string' } }, required: ['url'], additionalProperties: false }), output_schema: j({ type: 'object', properties: { body: { type: 'string' } }, required: ['body'] }) }] })),
  Validate: guard((c, cb) => cb(null, {})), Connect: guard((c, cb) => cb(null, {})), CheckConnection: guard((c, cb) => cb(null, {})), Reconcile: guard((c, cb) => cb(null, {})),
  Execute: guard(async call => {
    try { const r = await fetch(JSON.parse(call.request.input.json).url); call.write({ completed: { output: { json: j({ body: await r.text() }) } } }); }
    catch (e) { call.write({ failed: { code: 'UNAVAILABLE', message: String(e.message) + ': ' + String(e.cause && e.cause.message), applied: 'NOT_APPLIED' } }); }
    call.end();
  }),
});
const raw = (p, out) => ({ path: p, requestStream: false, responseStream: false, requestSerialize: b => b, requestDeserialize: b => b, responseSerialize: b => b, responseDeserialize: b => b });
s.addService({ Check: raw('/grpc.health.v1.Health/Check') }, { Check: (c, cb) => cb(null, Buffer.from([8, 1])) });
s.addService({ Shutdown: raw('/plugin.GRPCController/Shutdown') }, { Shutdown: (c, cb) => { cb(null, Buffer.alloc(0)); setTimeout(() => process.exit(0), 50); } });
const sock = path.join(fs.mkdtempSync(path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, 'n')), 's');
s.bindAsync('unix:' + sock, grpc.ServerCredentials.createInsecure(), e => { if (e) throw e; process.stdout.write(`1|1|unix|${sock}|grpc|\n`); });
process.stdin.resume(); process.stdin.on('end', () => process.exit(0));

// OpenID servers of the package oidc-provider for the tests beside this file. The
// first line on stdout is the address of the control server; the process ends with
// its stdin.
//
//   POST /servers   a server of these settings; answers with its issuer
//   GET  /requests  what the server of ?issuer= was asked, in order
import { createServer } from 'node:http';
import { once } from 'node:events';
import Provider from 'oidc-provider';
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js';

const servers = new Map(); // issuer -> requests

// Forgets a code with its end, as adapters over a cache do: the server then says
// invalid_grant, and not expired_token.
class ForgetfulAdapter extends MemoryAdapter {
  async find(id) {
    const found = await super.find(id);
    return found?.exp * 1000 <= Date.now() ? undefined : found;
  }
}

// Ends the very token that is revoked and no other of its grant, as RFC 7009 2.1
// allows.
class LooseAdapter extends MemoryAdapter {
  async revokeByGrantId() {}
}

function adapterOf(settings) {
  if (settings.loose) return LooseAdapter;
  return settings.forgetful ? ForgetfulAdapter : MemoryAdapter;
}

async function open(settings) {
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const issuer = `http://127.0.0.1:${listener.address().port}`;
  const requests = [];
  const lives = new WeakMap(); // of device codes, in seconds
  const lifeOf = (ctx, code) => {
    if (!lives.has(code)) {
      const rest = settings.code_ttls ?? [];
      lives.set(code, (rest.length > 1 ? rest.shift() : rest[0]) ?? 600);
    }
    return lives.get(code);
  };
  const provider = new Provider(issuer, {
    adapter: adapterOf(settings),
    clients: settings.clients.map((client) => ({
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types: [],
      redirect_uris: [],
      ...client,
    })),
    clientAuthMethods: settings.methods,
    features: { deviceFlow: { enabled: true }, revocation: { enabled: true } },
    scopes: ['openid', 'offline_access', 'email'],
    claims: { openid: ['sub'], email: ['email'] },
    findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({ sub: id, email: `${id}@example.com` }) }),
    issueRefreshToken: async () => settings.refresh !== false,
    rotateRefreshToken: settings.rotate !== false,
    ttl: {
      AccessToken: settings.access_ttl ?? 3600, DeviceCode: lifeOf, RefreshToken: 86400,
      IdToken: 3600, Grant: 86400, Interaction: 3600, Session: 86400,
    },
    cookies: { keys: ['for tests alone'] },
    renderError: async (ctx, out) => { ctx.body = out; },
  });
  provider.use(async (ctx, next) => {
    const asked = { path: ctx.path, method: ctx.method, query: ctx.querystring, authorization: ctx.headers.authorization ?? '' };
    requests.push(asked);
    if (settings.strict && asked.authorization.startsWith('Basic ')) { // to oidc-provider Basic and form are one
      ctx.req.headers.authorization = `Basic ${btoa(`${encodeURIComponent(settings.clients[0].client_id)}:not-this-way`)}`;
    }
    await next();
    asked.form = ctx.oidc?.body ?? {};
    asked.status = ctx.status;
    asked.error = ctx.body?.error ?? '';
    asked.access_token = ctx.body?.access_token ?? '';
    asked.refresh_token = ctx.body?.refresh_token ?? '';
    if (ctx.oidc?.route === 'device_authorization' && ctx.body?.expires_in && settings.tell_code_ttl) {
      ctx.body = { ...ctx.body, expires_in: settings.tell_code_ttl }; // its clock runs fast
    }
  });
  listener.on('request', provider.callback());
  servers.set(issuer, requests);
  return issuer;
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

const control = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://control');
  let answer = { error: 'no such route' };
  try {
    if (request.method === 'POST' && url.pathname === '/servers') {
      answer = { issuer: await open(await bodyOf(request)) };
    } else if (url.pathname === '/requests') {
      answer = servers.get(url.searchParams.get('issuer'));
    }
  } catch (error) {
    answer = { error: String(error) };
  }
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(answer));
});
control.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${control.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();

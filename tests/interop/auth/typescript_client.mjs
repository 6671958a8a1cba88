// node typescript_client.mjs sdk|client URL BROWSER
// A client made with the official TypeScript SDK, version 1 or 2, signs in to a server of ours and calls
// its tool `whoami`. Another one signs in and calls `publish`, which needs another scope: it is
// registered without scopes, because the SDK registers with those that it needs first, and
// oidc-provider then gives no others.

import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';

const [, , version, url, browser] = process.argv;
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = version === 'client'
  ? await import('@modelcontextprotocol/client')
  : {
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
  };

let redirected;
const callback = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://127.0.0.1');
  // A browser asks for an icon as well.
  if (pathname === '/callback') redirected?.(searchParams);
  response.end('done');
}).listen(0, '127.0.0.1');
await once(callback, 'listening');
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;

let kept = {};
let redirect;
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'typescript',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  redirectToAuthorization: (page) => {
    redirect = new Promise((resolve) => { redirected = resolve; });
    execFile(browser, [page.href], (error) => { if (error) console.error(error.message); });
  },
};

let transport;
async function connect() {
  const client = new Client({ name: 'interop', version: '1.0.0' });
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport);
  return client;
}

// Does something, and again after each sign-in that it needs.
async function signedIn(action, tries = 2) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || !redirect || tries === 0) throw error;
    const answer = await redirect;
    await transport.finishAuth(version === 'client' ? answer : answer.get('code'));
    return signedIn(action, tries - 1);
  }
}

const call = (name) => signedIn(async () => {
  const { content } = await (await connect()).callTool({ name, arguments: {} });
  return content[0].text;
});

async function register() {
  const place = new URL(url);
  place.pathname = `/.well-known/oauth-protected-resource${place.pathname}`;
  const { authorization_servers: [issuer] } = await (await fetch(place)).json();
  const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  const answer = await fetch(metadata.registration_endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(authProvider.clientMetadata),
  });
  return { ...(await answer.json()), issuer };
}

const name = await call('whoami');
kept = { client: await register() };
console.log(`${name}, ${await call('publish')}`);
process.exit();

// node provider.mjs
// An authorization server on loopback: oidc-provider with dynamic registration, PKCE, rotation of
// refresh tokens, resource indicators, revocation, and its own pages for a person. Access tokens are
// JWTs for one server, which live 10 s: ES256, and RS256 for servers below /rs256. Writes `listening on
// ISSUER`, and then a line for each thing that has happened.
//
// For tests alone:
//   POST /test/revoke   revokes the last refresh token, as its client may
//   GET /test/token     a token with the claims of the query; `alg`, and `key=other` for an unknown key

import { createServer } from 'node:http';
import { once } from 'node:events';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

const lifetime = 10;
const keys = {};
for (const [alg, use] of [['RS256', 'sig'], ['ES256', 'sig']]) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  keys[alg] = { ...(await exportJWK(privateKey)), alg, use, kid: alg };
}

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  jwks: { keys: Object.values(keys) },
  cookies: { keys: ['a key of this run'] },
  rotateRefreshToken: true,
  // Some clients register with the scopes that they ask for.
  scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'],
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope: 'mcp:read mcp:write',
        accessTokenTTL: lifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: new URL(resource).pathname.startsWith('/rs256/') ? 'RS256' : 'ES256' } },
      }),
    },
  },
});

const say = (...words) => console.log(words.join(' '));
let last;
provider.on('registration_create.success', (_, client) =>
  say('registered', client.applicationType, client.tokenEndpointAuthMethod));
provider.on('authorization.success', ({ oidc: { params } }) =>
  say('authorized', params.code_challenge_method, params.resource, params.scope));
provider.on('authorization.error', (_, error) => say('refused a page:', error.error));
provider.on('grant.success', ({ oidc: { params } }) => say('granted', params.grant_type));
provider.on('grant.error', (_, error) => say('refused a grant:', error.error));
provider.on('refresh_token.consumed', () => say('consumed a refresh token'));
provider.on('refresh_token.saved', (token) => { last = token; });
provider.on('grant.revoked', () => say('revoked'));
provider.on('server_error', (_, error) => console.error(error));

const answer = provider.callback();
server.on('request', (request, response) => {
  const url = new URL(request.url, issuer);
  const own = { '/test/revoke': revoke, '/test/token': token }[url.pathname];
  if (!own) return answer(request, response);
  own(url.searchParams).then((text) => response.end(text), (error) => {
    response.writeHead(500).end(`${error}`);
  });
});
say('listening on', issuer);

async function revoke() {
  const body = new URLSearchParams({ token: last.jti, client_id: last.clientId });
  const { status } = await fetch(`${issuer}/token/revocation`, { method: 'POST', body });
  return `${status}`;
}

async function token(query) {
  const { alg, key, ...claims } = Object.fromEntries(query);
  const private_ = key === 'other' ? (await generateKeyPair(alg)).privateKey : keys[alg];
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, sub: 'alice', scope: 'mcp:read', ...claims, exp: now + Number(claims.exp ?? 60) };
  return new SignJWT(all).setProtectedHeader({ alg, kid: alg, typ: 'at+jwt' }).sign(private_);
}

// node typescript_server.mjs sdk|server ISSUER
// A server made with the official TypeScript SDK, version 1 or 2, protected by its middleware for bearer
// tokens. Writes `listening on URL`.

import { createServer } from 'node:http';
import { once } from 'node:events';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const [, , version, issuer] = process.argv;
const {
  InvalidToken, requireBearerAuth, mcpAuthMetadataRouter, getOAuthProtectedResourceMetadataUrl, handler,
} = version === 'server' ? await second() : await first();

const app = express();
const http = createServer(app).listen(0, '127.0.0.1');
await once(http, 'listening');
const url = new URL(`http://127.0.0.1:${http.address().port}/rs256/mcp`);

const oauthMetadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));

async function verifyAccessToken(token) {
  const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href }).catch((error) => {
    throw new InvalidToken(error.message);
  });
  const { sub, client_id: clientId, scope, exp: expiresAt, aud } = payload;
  return { token, clientId, scopes: scope.split(' '), expiresAt, resource: new URL(aud), extra: { sub } };
}

app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: ['mcp:read'] }));
app.all('/rs256/mcp', requireBearerAuth({
  verifier: { verifyAccessToken },
  requiredScopes: ['mcp:read'],
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
  expectedResource: url,
}), handler);
console.log(`listening on ${url}`);

function offer(server, authOf) {
  server.registerTool('whoami', { description: 'Says who asks' }, (context) => ({
    content: [{ type: 'text', text: `${authOf(context).extra.sub}` }],
  }));
  return server;
}

// Legacy, and without sessions.
async function first() {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  const { StreamableHTTPServerTransport } =
    await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const { InvalidTokenError } = await import('@modelcontextprotocol/sdk/server/auth/errors.js');

  async function handle(request, response) {
    if (request.method !== 'POST') return response.status(405).end();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => transport.close());
    const server = new McpServer({ name: 'typescript', version: '1.0.0' });
    await offer(server, ({ authInfo }) => authInfo).connect(transport);
    return transport.handleRequest(request, response);
  }
  return {
    InvalidToken: InvalidTokenError,
    handler: handle,
    ...(await import('@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js')),
    ...(await import('@modelcontextprotocol/sdk/server/auth/router.js')),
  };
}

// Both eras.
async function second() {
  const { McpServer, OAuthError, OAuthErrorCode, createMcpHandler } =
    await import('@modelcontextprotocol/server');
  const { toNodeHandler } = await import('@modelcontextprotocol/node');

  const serve = createMcpHandler(() =>
    offer(new McpServer({ name: 'typescript', version: '1.0.0' }), ({ http: { authInfo } }) => authInfo));
  return {
    InvalidToken: class extends OAuthError {
      constructor(message) { super(OAuthErrorCode.InvalidToken, message); }
    },
    handler: toNodeHandler(serve),
    ...(await import('@modelcontextprotocol/express')),
  };
}

// legacy.mjs [sessions|stateless|json|sse]: @modelcontextprotocol/sdk, which knows the legacy era only.
// With an argument it serves over HTTP, on PORT.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES, offerFixtures, QUESTION, reply } from './fixtures.mjs';
import { listen, listenSse, withoutSessions, withSessions } from './http.mjs';

const [serving] = process.argv.slice(2);
if (!serving) {
  const server = makeServer();
  await server.connect(new StdioServerTransport());
  process.stdin.once('end', () => server.close()); // The SDK itself would wait for calls to end.
} else if (serving === 'sse') {
  listenSse(SSEServerTransport, (transport) => makeServer().connect(transport));
} else {
  const serve = serving === 'stateless' ? withoutSessions : withSessions;
  const connect = (transport) => makeServer().connect(transport);
  const options = { enableJsonResponse: serving === 'json' };
  listen(serve(WebStandardStreamableHTTPServerTransport, connect, options));
}

function makeServer() {
  const server = new McpServer(
    { name: 'interop-typescript-legacy', version: '1.0.0' },
    { capabilities: CAPABILITIES },
  );
  const subscribed = new Set();
  offerFixtures(server, {
    requestOf: ({ signal, _meta, sendNotification }) => ({
      signal,
      progressToken: _meta?.progressToken,
      notify: sendNotification,
    }),
    isSubscribed: (uri) => subscribed.has(uri),
  });

  server.registerTool('ask', {}, async () => reply(await server.server.elicitInput(QUESTION)));

  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  return server;
}

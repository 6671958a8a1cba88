// legacy.mjs: @modelcontextprotocol/sdk, which knows the legacy era only.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES, offerFixtures, QUESTION, reply } from './fixtures.mjs';

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

await server.connect(new StdioServerTransport());
process.stdin.once('end', () => server.close()); // The SDK itself would wait for calls to end.

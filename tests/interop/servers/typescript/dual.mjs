// dual.mjs: @modelcontextprotocol/server, which speaks both eras.

import { inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { CAPABILITIES, offerFixtures, QUESTION, reply } from './fixtures.mjs';

const STATE = 'asked for a name';

serveStdio(({ era }) => {
  const server = new McpServer(
    { name: 'interop-typescript-dual', version: '1.0.0' },
    { capabilities: CAPABILITIES },
  );
  const subscribed = new Set();
  offerFixtures(server, {
    requestOf: ({ mcpReq }) => ({
      signal: mcpReq.signal,
      progressToken: mcpReq._meta?.progressToken,
      notify: mcpReq.notify,
    }),
    // In the modern era the SDK itself keeps the subscriptions.
    isSubscribed: (uri) => era === 'modern' || subscribed.has(uri),
  });

  // In the legacy era the SDK makes a request of the input required.
  server.registerTool('ask', {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name');
    if (answer.kind === 'elicit' && mcpReq.requestState() === STATE) return reply(answer);
    const name = inputRequired.elicit(QUESTION);
    return inputRequired({ inputRequests: { name }, requestState: STATE });
  });

  if (era === 'legacy') {
    server.server.setRequestHandler('resources/subscribe', ({ params }) => {
      subscribed.add(params.uri);
      return {};
    });
    server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
      subscribed.delete(params.uri);
      return {};
    });
  }
  return server;
});

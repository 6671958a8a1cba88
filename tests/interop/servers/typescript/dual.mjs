// dual.mjs [sessions|stateless|json]: @modelcontextprotocol/server, which speaks both eras. With an
// argument it serves over HTTP, on PORT.

import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { CAPABILITIES, COUNTER, offerFixtures, QUESTION, reply } from './fixtures.mjs';
import { listen, withSessions } from './http.mjs';

const STATE = 'asked for a name';
const [serving] = process.argv.slice(2);
// Over HTTP it is the handler that keeps the subscriptions of the modern era.
let modern;

if (!serving) {
  serveStdio(makeServer);
} else {
  const isStateless = serving === 'stateless';
  const enableJsonResponse = serving === 'json';
  modern = createMcpHandler(makeServer, {
    legacy: isStateless ? 'stateless' : 'reject',
    responseMode: enableJsonResponse ? 'json' : 'auto',
  });
  const connect = (transport) => makeServer({ era: 'legacy' }).connect(transport);
  const legacy = isStateless
    ? modern.fetch
    : withSessions(WebStandardStreamableHTTPServerTransport, connect, { enableJsonResponse });
  listen(async (request) =>
    (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request),
  );
}

function makeServer({ era }) {
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
    tellOthers: () => {
      modern?.notify.resourceUpdated(COUNTER);
      modern?.notify.toolsChanged();
    },
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
}

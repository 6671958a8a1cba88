// modern.mjs MODE -- URL | COMMAND...: @modelcontextprotocol/client, which speaks both eras.

import assert from 'node:assert/strict';
import {
  Client,
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CAPABILITIES } from './host.mjs';
import { takeHttpSteps } from './over_http.mjs';
import { parseArguments } from './run.mjs';
import { takeSteps } from './steps.mjs';

// In the mode `fallback` the server must turn out to be a legacy one.
const MODES = { legacy: 'legacy', auto: 'auto', fallback: 'auto', pinned: { pin: '2026-07-28' } };

const { arguments: [mode], server } = parseArguments(process.argv.slice(2));

function connection(mode) {
  const isLegacy = mode === 'legacy' || mode === 'fallback';
  const client = new Client(
    { name: 'interop', version: '1.0.0' },
    { capabilities: CAPABILITIES, versionNegotiation: { mode: MODES[mode] } },
  );
  return {
    client,
    transport: server.transport(StreamableHTTPClientTransport, StdioClientTransport),
    isLegacy,
    negotiated: () => client.getNegotiatedProtocolVersion(),
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
    // In the legacy era the server says -32002, and this client makes the modern code of it.
    unknownResource: -32602,
    sessionExpired: ({ data }) => data.status === 404,
    onRequest: (method, handler) => client.setRequestHandler(method, handler),
    onNotification: (method, handler) => client.setNotificationHandler(method, handler),
    ...(isLegacy ? legacy(client) : modern(client)),
  };
}

function legacy(client) {
  return {
    async callToolLogging(name, level) {
      await client.setLoggingLevel(level);
      await client.callTool({ name });
    },
    async watch(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
  };
}

function modern(client) {
  return {
    callToolLogging: (name, level) =>
      client.callTool({ name, _meta: { [LOG_LEVEL_META_KEY]: level } }),
    async watch(uri) {
      const filter = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: [uri],
      };
      const subscription = await client.listen(filter);
      assert.deepEqual(subscription.honoredFilter, filter);
      return () => subscription.close();
    },
  };
}

await takeSteps(connection(mode));
if (server.url) {
  // The other modes keep to their era: the server may know no other.
  const modes = mode === 'legacy' ? ['legacy', 'pinned'] : [mode];
  await takeHttpSteps(() => connection(mode), modes.map((mode) => () => connection(mode)));
}

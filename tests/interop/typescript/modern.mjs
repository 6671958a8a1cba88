// modern.mjs MODE -- COMMAND...: @modelcontextprotocol/client, which speaks both eras.

import assert from 'node:assert/strict';
import { Client, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CAPABILITIES } from './host.mjs';
import { parseArguments } from './run.mjs';
import { takeSteps } from './steps.mjs';

const MODES = { legacy: 'legacy', auto: 'auto', pinned: { pin: '2026-07-28' } };

const { arguments: [mode], server } = parseArguments(process.argv.slice(2));
const isLegacy = mode === 'legacy';
const client = new Client(
  { name: 'interop', version: '1.0.0' },
  { capabilities: CAPABILITIES, versionNegotiation: { mode: MODES[mode] } },
);

const legacy = {
  async callToolLogging(name, level) {
    await client.setLoggingLevel(level);
    await client.callTool({ name });
  },
  async watch(uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
};

const modern = {
  callToolLogging: (name, level) =>
    client.callTool({ name, _meta: { [LOG_LEVEL_META_KEY]: level } }),
  async watch(uri) {
    const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [uri] };
    const subscription = await client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
    return () => subscription.close();
  },
};

await takeSteps({
  client,
  transport: new StdioClientTransport(server),
  isLegacy,
  negotiated: () => client.getNegotiatedProtocolVersion(),
  callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
  // In the legacy era the server says -32002, and this client makes the modern code of it.
  unknownResource: -32602,
  onRequest: (method, handler) => client.setRequestHandler(method, handler),
  onNotification: (method, handler) => client.setNotificationHandler(method, handler),
  ...(isLegacy ? legacy : modern),
});

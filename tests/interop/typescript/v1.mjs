// v1.mjs legacy|stateless -- URL | COMMAND...: @modelcontextprotocol/sdk, which knows the legacy era only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES } from './host.mjs';
import { takeHttpSteps } from './over_http.mjs';
import { parseArguments } from './run.mjs';
import { takeSteps } from './steps.mjs';

// Where later clients take the name of a method, this one takes its schema.
const SCHEMAS = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
  'notifications/message': types.LoggingMessageNotificationSchema,
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
  'notifications/prompts/list_changed': types.PromptListChangedNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
};

const { arguments: [mode], server } = parseArguments(process.argv.slice(2));

function connection() {
  const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: CAPABILITIES });
  const transport = server.transport(StreamableHTTPClientTransport, StdioClientTransport);
  return {
    client,
    transport,
    isLegacy: true,
    isStateless: mode === 'stateless',
    negotiated: learnVersion(transport),
    callTool: (name, args, options) =>
      client.callTool({ name, arguments: args }, undefined, options),
    async callToolLogging(name, level) {
      await client.setLoggingLevel(level);
      await client.callTool({ name });
    },
    unknownResource: -32002,
    sessionExpired: { code: 404 },
    onRequest: (method, handler) => client.setRequestHandler(SCHEMAS[method], handler),
    onNotification: (method, handler) => client.setNotificationHandler(SCHEMAS[method], handler),
    async watch(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
  };
}

/** This client tells the negotiated version to its transport only. */
function learnVersion(transport) {
  const tell = transport.setProtocolVersion?.bind(transport);
  let negotiated;
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    tell?.(version);
  };
  return () => negotiated;
}

await takeSteps(connection());
if (server.url) await takeHttpSteps(connection, [connection]);

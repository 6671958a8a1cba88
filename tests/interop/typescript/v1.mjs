// v1.mjs -- COMMAND...: @modelcontextprotocol/sdk, which knows the legacy era only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { parseArguments, takeSteps } from './steps.mjs';

const { server } = parseArguments(process.argv.slice(2));
const client = new Client({ name: 'interop', version: '1.0.0' });
const transport = new StdioClientTransport(server);

// This client tells the negotiated version to its transport only.
let negotiated;
transport.setProtocolVersion = (version) => (negotiated = version);

await takeSteps({
  client,
  transport,
  negotiated: () => negotiated,
  version: '2025-11-25',
  callTool: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
});

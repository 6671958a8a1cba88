// modern.mjs MODE -- COMMAND...: @modelcontextprotocol/client, which speaks both eras.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parseArguments, takeSteps } from './steps.mjs';

const MODES = {
  legacy: { mode: 'legacy', version: '2025-11-25' },
  auto: { mode: 'auto', version: '2026-07-28' },
  pinned: { mode: { pin: '2026-07-28' }, version: '2026-07-28' },
};

const { arguments: [name], server } = parseArguments(process.argv.slice(2));
const { mode, version } = MODES[name];
const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });

await takeSteps({
  client,
  transport: new StdioClientTransport(server),
  negotiated: () => client.getNegotiatedProtocolVersion(),
  version,
  callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
});

// codex.mjs: asks Codex, by its protocol for editors, which servers it has, and prints for each
// `NAME: TOOL...`.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const codex = spawn('codex', ['app-server'], { stdio: ['pipe', 'pipe', 'inherit'] });
const send = (message) => codex.stdin.write(`${JSON.stringify(message)}\n`);

send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'interop', version: '1.0.0' } } });
for await (const line of createInterface({ input: codex.stdout })) {
  const { id, result, error } = JSON.parse(line);
  if (error) throw new Error(error.message);
  if (id === 1) {
    send({ method: 'initialized' });
    send({ id: 2, method: 'mcpServerStatus/list', params: {} });
  }
  if (id === 2) {
    for (const { name, tools } of result.data) console.log(`${name}: ${Object.keys(tools).join(' ')}`);
    codex.stdin.end();
    codex.kill();
    break;
  }
}

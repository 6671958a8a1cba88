// soak.mjs NAME -- URL: @modelcontextprotocol/client, for `tests/soak/run`, which says what the server
// offers. Takes the same round again and again, in both eras, whatever happens, and tells on standard
// output of each call and each whole round.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { CAPABILITIES, answerRequests } from './host.mjs';
import { parseArguments, until } from './run.mjs';

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } };
const COUNTER = 'test://counter';
const CALL_MS = 5_000;
const ROUND_MS = 20_000;

const { arguments: [name], server } = parseArguments(process.argv.slice(2));
let keys = 0;

for (let round = 0; ; round++) {
  const era = round % 2 ? 'legacy' : 'modern';
  const client = new Client(
    { name: 'soak', version: '1.0.0' },
    { capabilities: CAPABILITIES, versionNegotiation: { mode: MODES[era] } },
  );
  const transport = new StreamableHTTPClientTransport(server.url);
  try {
    await within(ROUND_MS, take(client, transport, era));
    console.log(`round ${era}`);
  } catch {
    await sleep(200); // What was wrong is told by the call.
  }
  await within(CALL_MS, Promise.resolve(transport.terminateSession?.())).catch(() => {});
  await within(CALL_MS, client.close()).catch(() => {});
}

async function take(client, transport, era) {
  let changes = 0;
  client.onerror = () => {};
  answerRequests((method, handler) => client.setRequestHandler(method, handler));
  client.setNotificationHandler('notifications/resources/updated', () => changes++);
  const call = (name, args = {}, options) =>
    told(() => textOf(client.callTool({ name, arguments: args }, { timeout: CALL_MS, ...options })));

  await told(() => within(CALL_MS, client.connect(transport)));
  for (let count = 0; count < 5; count++) {
    const message = `${name}.${keys++}`;
    assert.equal(await call('echo', { message }), message);
  }
  let steps = 0;
  assert.equal(await call('progress', {}, { onprogress: () => steps++ }), 'done');
  assert(steps > 0, 'no progress');
  assert.equal(await call('ask'), 'hello my name');
  const signal = AbortSignal.timeout(100);
  await client.callTool({ name: 'wait' }, { signal }).catch(() => {});
  const filter = { resourceSubscriptions: [COUNTER] };
  if (era === 'legacy') await told(() => client.subscribeResource({ uri: COUNTER }));
  else await told(() => within(CALL_MS, client.listen(filter)));
  await call('touch');
  await told(() => within(CALL_MS, until(() => changes > 0)));
}

/** Tells of a call and its end. */
async function told(call) {
  console.log('called');
  try {
    const result = await call();
    console.log('completed');
    return result;
  } catch (error) {
    console.log(`failed ${String(error.message).slice(0, 60).replaceAll('\n', ' ')}`);
    throw error;
  }
}

async function textOf(result) {
  return (await result).content[0].text;
}

async function within(milliseconds, promise) {
  const late = sleep(milliseconds, undefined, { ref: false }).then(() => {
    throw new Error('no end');
  });
  return Promise.race([promise, late]);
}

// The steps that every TypeScript client takes, whichever SDK it is built on.

import assert from 'node:assert/strict';

const TOOLS = ['echo', 'test_error_handling', 'test_tool_with_progress', 'wait'];
const INVALID_PARAMS = -32602;
const DEADLINE_MS = 30_000;

/** Splits `[ARGUMENT...] -- COMMAND...` into the arguments and what a stdio transport spawns. */
export function parseArguments([...words]) {
  const end = words.indexOf('--');
  const [command, ...args] = words.slice(end + 1);
  assert(end >= 0 && command, 'usage: client [MODE] -- COMMAND...');
  return { arguments: words.slice(0, end), server: { command, args } };
}

/**
 * Takes every step against the server behind `transport`, or fails the process.
 *
 * `negotiated()` is the protocol version that `client` ended up with, `version` what it must be;
 * `callTool(name, arguments, options)` hides that the SDKs order their parameters differently.
 */
export async function takeSteps({ client, transport, negotiated, version, callTool }) {
  setTimeout(fail, DEADLINE_MS, `not done after ${DEADLINE_MS} ms`).unref();
  // What the SDK cannot place comes here: a line that is no message, an answer after a cancel.
  client.onerror = fail;

  await step('connect', () => client.connect(transport));
  await step('protocol version', () => assert.equal(negotiated(), version));
  await step('server name', () => assert.equal(client.getServerVersion()?.name, 'everything'));
  await step('list tools', async () => {
    const names = await toolNames(client);
    assert.deepEqual(TOOLS.filter((name) => !names.includes(name)), []);
  });
  await step('echo', () => echo(callTool, 'hello, ✓ wörld'));
  await step('progress', async () => {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    await callTool('test_tool_with_progress', {}, { onprogress });
    assert.deepEqual(seen, [0, 50, 100]);
  });
  await step('tool error', async () => {
    const { isError, content } = await callTool('test_error_handling', {});
    assert.equal(isError, true);
    assert.equal(content[0].text, 'This tool intentionally returns an error for testing');
  });
  await step('unknown tool', () =>
    assert.rejects(callTool('no_such_tool', {}), { code: INVALID_PARAMS }),
  );
  await step('cancel', () => {
    const waiting = callTool('wait', { seconds: 30 }, { signal: AbortSignal.timeout(200) });
    return assert.rejects(waiting, /aborted due to timeout/);
  });
  await step('echo after cancel', () => echo(callTool, 'still here'));
  await step('close', () => client.close());
}

async function step(name, take) {
  try {
    await take();
  } catch (error) {
    fail(`${name}: ${error}`);
  }
  console.log(`ok ${name}`);
}

function fail(error) {
  console.log(`FAILED: ${error}`);
  process.exit(1);
}

async function toolNames(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor && { cursor });
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor);
  return names;
}

async function echo(callTool, message) {
  const { content } = await callTool('echo', { message });
  assert.deepEqual(content, [{ type: 'text', text: message }]);
}

// The steps that every TypeScript client takes, whichever SDK it is built on.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { MODEL_TEXT, ROOT, answerRequests } from './host.mjs';
import { fail, setDeadline, step, until } from './run.mjs';

const TOOLS = [
  'echo',
  'test_elicitation',
  'test_error_handling',
  'test_image_content',
  'test_sampling',
  'test_simple_text',
  'test_tool_with_logging',
  'test_tool_with_progress',
  'wait',
];
const LOGGED = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
export const WATCHED = 'test://watched-resource';
const INVALID_PARAMS = -32602;

/**
 * Takes every step against the server behind `sdk.transport`, or fails the process.
 *
 * `sdk` is one connection. It hides in what the SDKs differ, and says in what the eras do:
 * - `client`, `transport`: how to reach the server
 * - `isLegacy`: which era they must speak; `negotiated()`: the protocol version that came of it
 * - `isStateless`: the server keeps no sessions, so it cannot ask, tell of changes, or cancel
 * - `callTool(name, arguments, options)`
 * - `callToolLogging(name, level)`: calls a tool and asks for what it logs from `level` on
 * - `unknownResource`: the code of that error
 * - `onRequest(method, handler)`, `onNotification(method, handler)`
 * - `watch(uri)`: asks for changes of the lists and of a resource, and returns how to stop them
 */
export async function takeSteps(sdk) {
  setDeadline();

  const host = await meet(sdk);
  await useTools(sdk);
  await readResources(sdk);
  await getPrompts(sdk);
  await complete(sdk);
  await seeProgress(sdk);
  if (!sdk.isStateless) {
    await seeLogs(sdk);
    await answerOneRequest(sdk, host);
    await answerManyRequests(sdk, host);
    await seeChanges(sdk);
    await cancel(sdk);
  } else {
    await step('no question without a session', () =>
      assert.rejects(sdk.callTool('test_elicitation', { message: 'Who are you?' }), {
        name: 'McpError',
      }),
    );
  }
  if (sdk.isLegacy) await step('ping', () => sdk.client.ping());
  await step('close', () => close(sdk));
}

/** Returns the host that answers what the server asks. */
export async function connect({ client, transport, onRequest }) {
  // What the SDK cannot place comes here: a line that is no message, an answer after a cancel.
  client.onerror = fail;
  const host = answerRequests(onRequest);
  await client.connect(transport);
  return host;
}

export async function close({ client, transport }) {
  client.onerror = undefined; // It may say that what it ends has ended: its session, its streams.
  await transport.terminateSession?.();
  await client.close();
}

async function meet(sdk) {
  const { client, isLegacy, negotiated } = sdk;
  let host;
  await step('connect', async () => (host = await connect(sdk)));
  await step('protocol version', () =>
    assert.equal(negotiated(), isLegacy ? '2025-11-25' : '2026-07-28'),
  );
  await step('server info', () => {
    const { name, version } = client.getServerVersion();
    assert.equal(name, 'everything');
    assert.match(version, /^\d+\.\d+\.\d+/);
  });
  return host;
}

async function useTools({ client, callTool }) {
  await step('list tools', async () => {
    const names = await listed('tools', 'name', (page) => client.listTools(page));
    assert.deepEqual(TOOLS.filter((name) => !names.includes(name)), []);
  });
  await step('tool with text', () => echo(callTool, 'hello, ✓ wörld'));
  await step('tool with an image', async () => {
    const { content: [{ type, mimeType, data }] } = await callTool('test_image_content', {});
    assert.deepEqual([type, mimeType], ['image', 'image/png']);
    assertPng(data);
  });
  await step('tools with other contents', async () => {
    const types = async (name) => (await callTool(name, {})).content.map(({ type }) => type);
    assert.deepEqual(await types('test_audio_content'), ['audio']);
    assert.deepEqual(await types('test_embedded_resource'), ['resource']);
    assert.deepEqual(await types('test_multiple_content_types'), ['text', 'image', 'resource']);
  });
  await step('tool error', async () => {
    const { isError, content } = await callTool('test_error_handling', {});
    assert.equal(isError, true);
    assert.equal(content[0].text, 'This tool intentionally returns an error for testing');
  });
  await step('unknown tool', () =>
    assert.rejects(callTool('no_such_tool', {}), { code: INVALID_PARAMS }),
  );
}

async function readResources({ client, unknownResource }) {
  const read = async (uri) => (await client.readResource({ uri })).contents[0];

  await step('list resources', async () => {
    const uris = await listed('resources', 'uri', (page) => client.listResources(page));
    for (const uri of ['test://static-text', 'test://static-binary', WATCHED])
      assert(uris.includes(uri), `no ${uri}`);
  });
  await step('list resource templates', async () =>
    assert.deepEqual(
      await listed('resourceTemplates', 'uriTemplate', (page) => client.listResourceTemplates(page)),
      ['test://template/{id}/data'],
    ),
  );
  await step('resource', async () => {
    const { text } = await read('test://static-text');
    assert.equal(text, 'This is the content of the static text resource.');
  });
  await step('binary resource', async () => {
    const { mimeType, blob } = await read('test://static-binary');
    assert.equal(mimeType, 'image/png');
    assertPng(blob);
  });
  await step('resource by template', async () =>
    assert.match((await read('test://template/123/data')).text, /123/),
  );
  await step('unknown resource', () =>
    assert.rejects(read('test://no-such-resource'), { code: unknownResource }),
  );
}

async function getPrompts({ client }) {
  const get = (name, args) => prompt(client, name, args);

  await step('list prompts', async () => {
    const names = await listed('prompts', 'name', (page) => client.listPrompts(page));
    for (const name of ['test_simple_prompt', 'test_prompt_with_arguments'])
      assert(names.includes(name), `no ${name}`);
  });
  await step('prompt with arguments', async () => {
    const [{ text }] = await get('test_prompt_with_arguments', { arg1: 'one', arg2: 'two' });
    assert.match(text, /one.*two/s);
  });
  await step('prompt with a resource', async () => {
    const resourceUri = 'test://static-text';
    const contents = await get('test_prompt_with_embedded_resource', { resourceUri });
    assert.equal(contents[0].resource.uri, resourceUri);
  });
}

async function complete({ client }) {
  const values = async (ref, name, value) =>
    (await client.complete({ ref, argument: { name, value } })).completion.values;

  await step('complete a prompt argument', async () => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    assert.deepEqual(await values(ref, 'arg1', 'test'), ['testValue1', 'testValue2']);
    assert.deepEqual(await values(ref, 'arg1', 'no'), []);
  });
  await step('complete a resource template', async () => {
    const ref = { type: 'ref/resource', uri: 'test://template/{id}/data' };
    assert.deepEqual(await values(ref, 'id', '12'), ['123', '124']);
  });
}

async function seeProgress({ callTool }) {
  await step('progress', () => callWithProgress(callTool, {}));
}

async function seeLogs({ callTool, callToolLogging, isLegacy, onNotification }) {
  const logs = [];
  onNotification('notifications/message', ({ params }) => logs.push(params));
  await step('no logs unless asked for', async () => {
    await callToolLogging('test_tool_with_logging', 'error');
    // A legacy server decides itself what a client that has set no level gets.
    if (!isLegacy) await callTool('test_tool_with_logging', {});
    await echo(callTool, 'the logs are over');
    assert.deepEqual(logs, []);
  });
  await step('logs', async () => {
    await callToolLogging('test_tool_with_logging', 'info');
    await until(() => logs.length >= LOGGED.length);
    assert.deepEqual(logs.map(({ data }) => data), LOGGED);
    assert(logs.every(({ level }) => level === 'info'));
  });
}

async function answerOneRequest({ client, callTool }, host) {
  const elicit = async () => {
    const text = await textOf(callTool('test_elicitation', { message: 'Who are you?' }));
    return text.split(/^User response: (\w+): /).slice(1);
  };

  await step('elicitation, accepted', async () => {
    const [action, content] = await elicit();
    assert.equal(action, 'accept');
    assert.deepEqual(JSON.parse(content), { username: 'my username', email: 'my email' });
  });
  await step('elicitation, declined', async () => {
    host.action = 'decline';
    const [action] = await elicit();
    assert.equal(action, 'decline');
    host.action = 'accept';
  });
  await step('sampling', async () => {
    const text = await textOf(callTool('test_sampling', { prompt: 'Which capital?' }));
    assert.equal(text, `LLM response: ${MODEL_TEXT}`);
  });
  await step('prompt that asks', async () => {
    host.asked = [];
    const [{ text }] = await prompt(client, 'test_input_required_result_prompt');
    assert.match(text, /my context/);
    assert.deepEqual(host.asked, ['elicitation/create']);
  });
}

async function answerManyRequests({ callTool }, host) {
  const call = async (name, ...asked) => {
    host.asked = [];
    const text = await textOf(callTool(`test_input_required_result_${name}`, {}));
    assert.deepEqual(host.asked.toSorted(), asked);
    return text;
  };

  await step('input required: elicitation', async () =>
    assert.equal(await call('elicitation', 'elicitation/create'), 'Hello, my name!'),
  );
  await step('input required: sampling', async () =>
    assert((await call('sampling', 'sampling/createMessage')).includes(MODEL_TEXT)),
  );
  await step('input required: roots', async () =>
    assert((await call('list_roots', 'roots/list')).includes(ROOT)),
  );
  await step('input required: two rounds', async () => {
    const text = await call('multi_round', 'elicitation/create', 'elicitation/create');
    assert.match(text, /my name/);
    assert.match(text, /my color/);
  });
  await step('input required: all kinds at once', () =>
    call('multiple_inputs', 'elicitation/create', 'roots/list', 'sampling/createMessage'),
  );
}

async function seeChanges({ callTool, onNotification, watch }) {
  const seen = { tools: 0, prompts: 0, updates: [] };
  onNotification('notifications/tools/list_changed', () => seen.tools++);
  onNotification('notifications/prompts/list_changed', () => seen.prompts++);
  onNotification('notifications/resources/updated', ({ params }) => seen.updates.push(params.uri));

  let stop;
  await step('subscribe', async () => (stop = await watch(WATCHED)));
  await step('changed tools', async () => {
    await callTool('test_trigger_tool_change', {});
    await until(() => seen.tools === 1);
  });
  await step('changed prompts', async () => {
    await callTool('test_trigger_prompt_change', {});
    await until(() => seen.prompts === 1);
  });
  await step('updated resource', async () => {
    await callTool('test_trigger_resource_update', {});
    await until(() => seen.updates.length);
    assert.deepEqual(seen, { tools: 1, prompts: 1, updates: [WATCHED] });
  });
  await step('unsubscribe', async () => {
    await stop();
    await callTool('test_trigger_resource_update', {});
    await echo(callTool, 'the updates are over');
    assert.deepEqual(seen.updates, [WATCHED]);
  });
}

async function cancel({ callTool }) {
  await step('cancel', () => {
    const waiting = callTool('wait', { seconds: 1 }, { signal: AbortSignal.timeout(200) });
    return assert.rejects(waiting, /aborted due to timeout/);
  });
  await step('tool after cancel', () => echo(callTool, 'still here'));
  // An answer that came all the same would be an error of the client.
  await step('no answer after cancel', () => sleep(1000));
}

/** The `field` of every item, from the `items` of all pages that `list` gives. */
async function listed(items, field, list) {
  const fields = [];
  let cursor;
  do {
    const page = await list(cursor && { cursor });
    fields.push(...page[items].map((item) => item[field]));
    cursor = page.nextCursor;
  } while (cursor);
  return fields;
}

/** Calls the tool that tells how far it is, and sees all that it tells. */
export async function callWithProgress(callTool, args) {
  const seen = [];
  const onprogress = ({ progress, total }) => seen.push([progress, total]);
  await callTool('test_tool_with_progress', args, { onprogress });
  assert.deepEqual(seen, [[0, 100], [50, 100], [100, 100]]);
}

export async function echo(callTool, message) {
  assert.equal(await textOf(callTool('echo', { message })), message);
}

/** The contents of a prompt's messages. */
async function prompt(client, name, args) {
  const { messages } = await client.getPrompt({ name, arguments: args });
  return messages.map(({ content }) => content);
}

/** The text of a result that is one text and nothing else. */
export async function textOf(result) {
  const { content } = await result;
  assert.deepEqual(content.map(({ type }) => type), ['text']);
  return content[0].text;
}

function assertPng(base64) {
  assert.equal(Buffer.from(base64, 'base64').toString('latin1', 1, 4), 'PNG');
}

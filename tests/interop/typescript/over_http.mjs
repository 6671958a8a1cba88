// The steps that every TypeScript client takes over HTTP alone. The words about cuts and
// expiry are for `../http/observe.mjs`, which stands between client and server.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { step, until } from './run.mjs';
import { WATCHED, callWithProgress, close, connect, echo, textOf } from './steps.mjs';

/**
 * Takes every step, or fails the process. `make()` is a connection to be, as `takeSteps` takes it;
 * `crowd` are the makers of those that are open at once.
 */
export async function takeHttpSteps(make, crowd) {
  const { isLegacy, isStateless, sessionExpired } = make();

  if (isLegacy && !isStateless) {
    await step('stream closed by the server, and resumed', () => beSentAway(make()));
    await step('stream cut, and resumed', () => beCut(make()));
    await step('stream of updates cut, and resumed', () => missUpdate(make()));
    await step('session expired', () => expire(make(), sessionExpired));
  }
  if (!isLegacy) await step('stream cut', () => loseCall(make()));
  await step('many at once', () => meetAll(crowd.flatMap((make) => [make(), make()])));
  await step('close while busy', () => closeBusy(make()));
  const after = make();
  await step('connect after all', () => connect(after));
  await step('close after all', () => close(after));
}

async function beSentAway(sdk) {
  await connect(sdk);
  const text = await textOf(sdk.callTool('test_reconnection', {}));
  assert.equal(text, 'Reconnection test completed');
  await close(sdk);
}

async function beCut(sdk) {
  await connect(sdk);
  sdk.client.onerror = undefined; // It says that the stream broke, and goes on.
  await callWithProgress(sdk.callTool, { note: 'cut me' });
  await close(sdk);
}

async function missUpdate(sdk) {
  await connect(sdk);
  sdk.client.onerror = undefined;
  let updates = 0;
  sdk.onNotification('notifications/resources/updated', () => updates++);
  const stop = await sdk.watch(WATCHED);
  await sdk.callTool('test_trigger_resource_update', {});
  await until(() => updates === 1);
  await echo(sdk.callTool, 'cut the other stream');
  await sdk.callTool('test_trigger_resource_update', {});
  await until(() => updates === 2);
  await stop();
  await close(sdk);
}

/** In the modern era what is cut is lost, and nothing else is. This SDK waits on until its timeout. */
async function loseCall(sdk) {
  await connect(sdk);
  sdk.client.onerror = undefined;
  const options = { onprogress() {}, timeout: 500 };
  await assert.rejects(sdk.callTool('test_tool_with_progress', { note: 'cut me' }, options));
  await echo(sdk.callTool, 'still here');
  await close(sdk);
}

async function expire(sdk, error) {
  await connect(sdk);
  sdk.client.onerror = undefined;
  await assert.rejects(echo(sdk.callTool, 'expire me'), error);
  await sdk.client.close();
}

/** All of them give their requests the same ids, and none gets what is another's. */
async function meetAll(sdks) {
  const hosts = await Promise.all(sdks.map(connect));
  const converse = async ({ callTool, isStateless }, index) => {
    const words = Array.from({ length: 5 }, (_, count) => `${count} of client ${index}`);
    await Promise.all([
      ...words.map((word) => echo(callTool, word)),
      callWithProgress(callTool, {}),
      isStateless || beAsked(callTool, hosts[index]),
    ]);
  };
  await Promise.all(sdks.map(converse));
  await Promise.all(sdks.map(close));
}

async function beAsked(callTool, host) {
  const text = await textOf(callTool('test_input_required_result_elicitation', {}));
  assert.equal(text, 'Hello, my name!');
  assert.deepEqual(host.asked, ['elicitation/create']);
}

async function closeBusy(sdk) {
  await connect(sdk);
  const waiting = assert.rejects(sdk.callTool('wait', { seconds: 20 }));
  await sleep(200);
  await close(sdk);
  await waiting;
}

// How a TypeScript client is started, reports its steps, waits, and fails.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const DEADLINE_MS = 30_000;

/** Splits `[ARGUMENT...] -- URL` or `[ARGUMENT...] -- COMMAND...` into arguments and server. */
export function parseArguments([...words]) {
  const end = words.indexOf('--');
  const [first, ...args] = words.slice(end + 1);
  assert(end >= 0 && first, 'usage: client [ARGUMENT...] -- URL | COMMAND...');
  return { arguments: words.slice(0, end), server: new Server(first, args) };
}

/** What is tried: a URL, or a command to spawn. */
class Server {
  constructor(first, args) {
    this.url = /^http:/.test(first) ? new URL(first) : undefined;
    this.command = { command: first, args };
  }

  transport(HttpTransport, StdioTransport) {
    return this.url ? new HttpTransport(this.url) : new StdioTransport(this.command);
  }
}

/** Fails the process if it is not done by then. */
export function setDeadline() {
  setTimeout(fail, DEADLINE_MS, `not done after ${DEADLINE_MS} ms`).unref();
}

export async function step(name, take) {
  try {
    await take();
  } catch (error) {
    fail(`${name}: ${error}`);
  }
  console.log(`ok ${name}`);
}

export function fail(error) {
  console.log(`FAILED: ${error}`);
  process.exit(1);
}

/** Waits for what a notification will make true; the deadline ends a wait in vain. */
export async function until(isTrue) {
  while (!isTrue()) await sleep(10);
}

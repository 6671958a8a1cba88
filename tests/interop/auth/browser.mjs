#!/usr/bin/env node
// browser.mjs URL
// A person at a browser, headless Chromium: fills in the forms of an authorization server and sends
// them, until the redirect has arrived. With PERSON=refuses the person follows the link to cancel.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.argv[2];
const target = new URL(url).searchParams.get('redirect_uri');
const profile = mkdtempSync(join(tmpdir(), 'browser-'));
const chromium = spawn('chromium', [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
  '--remote-debugging-pipe', `--user-data-dir=${profile}`,
  // Nothing but loopback.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const [, , , commands, answers] = chromium.stdio;
const ended = new Promise((resolve) => { chromium.on('exit', resolve); });

const pending = new Map();
let text = '';
answers.setEncoding('utf8').on('data', (data) => {
  const messages = (text + data).split('\0');
  text = messages.pop();
  for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
    pending.get(id)?.({ result, error });
    pending.delete(id);
  }
});

let page = {};
async function send(method, params = {}) {
  const id = pending.size + Math.floor(Math.random() * 1e9);
  const answer = new Promise((resolve) => { pending.set(id, resolve); });
  commands.write(`${JSON.stringify({ id, method, params, ...page })}\0`);
  const { result, error } = await answer;
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

// Runs in the page: takes the next step, and says what is there.
function step(refuses) {
  const { href, origin, pathname } = location;
  const seen = { href, at: origin + pathname, text: document.body?.innerText ?? '' };
  if (document.readyState !== 'complete' || window.isSent) return { ...seen, at: '' };
  const next = document.querySelector(refuses ? 'a[href$="/abort"]' : 'form [type=submit]');
  if (next) {
    for (const input of document.querySelectorAll('input[type=text], input[type=password]')) {
      input.value = 'alice';
    }
    window.isSent = true;
    next.click();
  }
  return seen;
}

async function visit() {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  page = { sessionId };
  await send('Page.navigate', { url });
  const expression = `(${step})(${process.env.PERSON === 'refuses'})`;
  let seen;
  for (const until = Date.now() + 30_000; Date.now() < until; await sleep(100)) {
    // Between two pages there is none.
    const { result } = await send('Runtime.evaluate', { expression, returnByValue: true })
      .catch(() => ({ result: {} }));
    seen = result.value ?? seen;
    if (seen?.at === target) return;
  }
  throw new Error(`no redirect; the page is ${seen?.href}:\n${seen?.text}`);
}

try {
  await visit();
} catch (error) {
  console.error(`browser: ${error.message}`);
  process.exitCode = 1;
} finally {
  chromium.kill('SIGKILL');
  await ended;
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}

// observe.mjs URL NOTES: stands between an SDK's client and the server at URL, notes what the client
// keeps to itself, and does to it what a network and a server's operator do. Prints its own URL.
// What passes is not touched, but the answer to a DELETE waits, so that a client hears first of the
// calls that have ended with its session; and by a request that has one of these words in its body:
// - `cut me`: the connection breaks once its answer has begun
// - `cut the other stream`: every connection on which a GET is being answered breaks before that
// - `expire me`: its session is ended at the server before the server gets to see the request; only
//   the first time, since a client may try again in another session
// A line of NOTES tells of an answer: METHOD STATUS, and `minted` if it gives the client a session,
// `resumed` if the client wanted the rest of a stream that had been cut.

import { appendFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [url, notes] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const DELETE_DELAY_MS = 50;
// How to cut each answer to a GET that goes on.
const streams = new Set();
let hasExpired = false;

const server = createServer((client) => {
  const upstream = connect(port, hostname);
  const cut = () => client.end(() => upstream.destroy());
  // The request whose answer has not begun: SDKs send one at a time on a connection.
  let request;

  client.on('data', async (data) => {
    request = (request ?? '') + data.toString('latin1');
    if (!hasExpired && request.includes('expire me')) {
      client.pause();
      await endSession(request);
      client.resume();
    }
    upstream.write(data);
  });
  upstream.on('data', async (data) => {
    const answer = data.toString('latin1');
    const begins = request && answer.startsWith('HTTP/1.1 ');
    if (begins && request.includes('cut the other stream')) {
      for (const cut of streams) cut();
    }
    if (begins && request.startsWith('DELETE ')) {
      upstream.pause();
      await sleep(DELETE_DELAY_MS);
      upstream.resume();
    }
    client.write(data);
    if (begins && request.startsWith('GET ') && !answer.startsWith('HTTP/1.1 4')) streams.add(cut);
    if (answer.endsWith(LAST_CHUNK)) streams.delete(cut);
    if (!begins) return;
    appendFileSync(notes, `${note(request, answer)}\n`);
    if (request.includes('cut me')) cut();
    request = undefined;
  });
  client.on('close', () => streams.delete(cut));
  for (const [one, other] of [[client, upstream], [upstream, client]]) {
    one.setNoDelay();
    one.on('error', () => other.destroy());
    one.on('end', () => other.end());
    one.on('close', () => other.destroy());
  }
});

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}${pathname}`);
});

function note(request, answer) {
  const [method] = request.split(' ', 1);
  const [, status] = answer.split(' ', 2);
  const words = [method, status];
  if (field(answer, 'mcp-session-id') && !field(request, 'mcp-session-id')) words.push('minted');
  if (field(request, 'last-event-id')) words.push('resumed');
  return words.join(' ');
}

async function endSession(request) {
  hasExpired = true;
  const headers = { 'mcp-session-id': field(request, 'mcp-session-id') };
  const { status } = await fetch(url, { method: 'DELETE', headers });
  if (status >= 300) appendFileSync(notes, `the session could not be ended: ${status}\n`);
}

/** The field's value in the head that `message` begins with. */
function field(message, name) {
  const [head] = message.split(HEAD_END, 1);
  return head.match(new RegExp(`^${name}: *(.*?) *\r?$`, 'im'))?.[1];
}

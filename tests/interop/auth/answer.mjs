// node answer.mjs URL [TOKEN-URL]
// Sends a request to a protected server, with the token that TOKEN-URL gives, and prints the status and
// the challenge of the answer.

const [, , url, tokenUrl] = process.argv;
const headers = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};
if (tokenUrl) headers.Authorization = `Bearer ${await (await fetch(tokenUrl)).text()}`;
const params = {
  protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'interop', version: '1.0.0' },
};
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
const answer = await fetch(url, { method: 'POST', headers, body });
console.log(answer.status, answer.headers.get('www-authenticate') ?? '');

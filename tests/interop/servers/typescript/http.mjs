// http.mjs: serves over HTTP, on PORT, what the SDKs make of a request. Both have the same transport.

import { toNodeHandler } from '@modelcontextprotocol/node';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

/** `fetch(request)` is what a request comes to. */
export function listen(fetch) {
  const server = createServer(toNodeHandler({ fetch }));
  server.listen(process.env.PORT, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`);
  });
}

/** HTTP+SSE, of 2024-11-05. `connect(transport)` connects another server. */
export function listenSse(Transport, connect) {
  const transports = new Map();
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (request.method === 'GET' && pathname === '/sse') {
      const transport = new Transport('/messages', response);
      transports.set(transport.sessionId, transport);
      response.on('close', () => transports.delete(transport.sessionId));
      return connect(transport);
    }
    const transport = pathname === '/messages' && transports.get(searchParams.get('sessionId'));
    if (transport) return transport.handlePostMessage(request, response);
    response.writeHead(404).end(`Cannot ${request.method} ${pathname}`);
  });
  server.listen(process.env.PORT, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}/sse`);
  });
}

/** Legacy serving with sessions. `connect(transport)` connects another server. */
export function withSessions(Transport, connect, { enableJsonResponse }) {
  const transports = new Map();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id) return transports.get(id)?.handleRequest(request) ?? sessionLost();
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
      onsessionclosed: (id) => transports.delete(id),
      eventStore: new Events(),
      retryInterval: 100,
      enableJsonResponse,
    });
    await connect(transport);
    return transport.handleRequest(request);
  };
}

/** Legacy serving without sessions. `connect(transport)` connects another server. */
export function withoutSessions(Transport, connect) {
  return async (request) => {
    if (request.method !== 'POST') return refusal(405, 'Method not allowed');
    const transport = new Transport({ sessionIdGenerator: undefined });
    await connect(transport);
    return transport.handleRequest(request);
  };
}

/** With SESSION_LOST=400, what the SDK's own example says, and servers that are copied from it. */
function sessionLost() {
  return process.env.SESSION_LOST === '400'
    ? refusal(400, 'Bad Request: No valid session ID provided')
    : refusal(404, 'Session not found');
}

function refusal(status, message) {
  return Response.json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }, { status });
}

/** What a client that comes back has missed. */
class Events {
  #events = [];

  async storeEvent(stream, message) {
    this.#events.push({ stream, message });
    return `${this.#events.length}`;
  }

  async getStreamIdForEventId(id) {
    return this.#events[id - 1]?.stream;
  }

  async replayEventsAfter(last, { send }) {
    const stream = await this.getStreamIdForEventId(last);
    for (const [index, event] of this.#events.entries()) {
      const isMissing = index >= last && event.stream === stream && event.message.jsonrpc;
      if (isMissing) await send(`${index + 1}`, event.message);
    }
    return stream;
  }
}

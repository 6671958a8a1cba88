// What both servers offer. The SDKs register it with the same words, and differ in what a handler
// gets to see of its request.

import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';

export const COUNTER = 'test://counter';
export const CAPABILITIES = { resources: { subscribe: true } };
export const QUESTION = {
  message: 'What is your name?',
  requestedSchema: {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
  },
};

// Of all servers, of which there may be one for each request.
let touches = 0;

/**
 * `requestOf(context)` is `{ signal, progressToken, notify }`, whatever the SDK calls them;
 * `isSubscribed(uri)` tells whether someone wants to know of updates; `tellOthers()` tells those who
 * are connected to no server.
 */
export function offerFixtures(server, { requestOf, isSubscribed, tellOthers }) {
  server.registerTool('echo', { inputSchema: { message: z.string() } }, ({ message }) => {
    if (process.env.ECHOES) appendFileSync(process.env.ECHOES, `${message}\n`);
    return text(message);
  });

  server.registerTool('progress', {}, async (context) => {
    const { progressToken, notify } = requestOf(context);
    for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
      const params = { progressToken, progress, total: 3 };
      await notify({ method: 'notifications/progress', params });
    }
    await setTimeout(50);
    return text('done');
  });

  server.registerTool('wait', {}, async (context) => {
    const { signal } = requestOf(context);
    await setTimeout(60_000, undefined, { signal }).catch(() => console.error('cancelled'));
    return text('waited');
  });

  const touched = server.registerTool('touched', {}, () => text('touched'));
  if (touches === 0) touched.disable();
  server.registerTool('touch', {}, async () => {
    touches += 1;
    if (isSubscribed(COUNTER)) await server.server.sendResourceUpdated({ uri: COUNTER });
    touched.enable(); // This tells that the list has changed, even if the tool was enabled before.
    tellOthers?.();
    return text('touched');
  });

  server.registerResource('counter', COUNTER, { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: COUNTER, mimeType: 'text/plain', text: `${touches}` }],
  }));

  server.registerPrompt('greet', { argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
}

/** What the tool `ask` says to an answer. */
export function reply({ action, content }) {
  const others = { decline: 'declined', cancel: 'cancelled' };
  return text(action === 'accept' ? `hello ${content.name}` : others[action]);
}

function text(text) {
  return { content: [{ type: 'text', text }] };
}

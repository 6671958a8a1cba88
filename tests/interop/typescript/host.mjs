// What stands around a client: a user, a model and a workspace that answer the server.

export const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} };
export const ROOT = 'file:///home/user/project';
export const MODEL_TEXT = 'It is Paris.';

/**
 * Registers the answers by `onRequest(method, handler)`, and returns what `steps.mjs` looks at: the
 * methods `asked` so far, and the `action` that the user takes on every form.
 */
export function answerRequests(onRequest) {
  const host = { asked: [], action: 'accept' };

  onRequest('elicitation/create', ({ params }) => {
    host.asked.push('elicitation/create');
    return host.action === 'accept'
      ? { action: 'accept', content: fillIn(params.requestedSchema) }
      : { action: host.action };
  });
  onRequest('sampling/createMessage', () => {
    host.asked.push('sampling/createMessage');
    return { role: 'assistant', model: 'model', content: { type: 'text', text: MODEL_TEXT } };
  });
  onRequest('roots/list', () => {
    host.asked.push('roots/list');
    return { roots: [{ uri: ROOT, name: 'project' }] };
  });
  return host;
}

/** `{ name: 'my name' }` for a form that asks for the string `name`. */
function fillIn({ properties }) {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, `my ${name}`]));
}

// check.mjs ERA URL PROFILE
// A host of MCP Apps, as small as can be, and its browser. Asks the server at URL for its tools, calls
// `forecast` as a model would, reads the page of the tool, and serves a page with that in a frame.
// Chromium renders both, with its files in the folder PROFILE; it is driven over a pipe, by the DevTools
// protocol. Fails unless the frame shows the result, its button works, and its policy is kept.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const UI = 'io.modelcontextprotocol/ui';
const PAGE = 'text/html;profile=mcp-app';
const CITY = '<b>Oslo</b>';
const LIMIT = 30_000;

async function main([era, url, profile]) {
  const server = await (era === 'legacy' ? Legacy : Modern).connect(url);
  const host = await prepare(server);
  const site = await serve(host, server);
  const browser = new Browser(profile);
  try {
    await look(browser, site, host);
  } finally {
    browser.close();
    site.close();
  }
  console.log('shown');
}

// What a host does before it shows something: tools, the page, the call of the model.
async function prepare(server) {
  assert.deepEqual(server.capabilities.extensions[UI], {});
  const { tools } = await server.ask('tools/list', {});
  const callers = ({ _meta }) => _meta?.ui?.visibility ?? ['model', 'app'];
  const forModel = tools.filter((tool) => callers(tool).includes('model'));
  assert.deepEqual(forModel.map(({ name }) => name), ['forecast']);
  const forPage = tools.filter((tool) => callers(tool).includes('app')).map(({ name }) => name);

  const input = { city: CITY };
  const uri = forModel[0]._meta.ui.resourceUri;
  const { contents: [page] } = await server.ask('resources/read', { uri });
  assert.deepEqual([page.uri, page.mimeType], [uri, PAGE]);
  assert.deepEqual(page._meta.ui, { prefersBorder: true });
  const result = await server.ask('tools/call', { name: 'forecast', arguments: input });
  assert.equal(result.content[0].text, `The user sees the forecast for ${CITY}.`);
  return { page, input, result, forPage, seen: [] };
}

// Two origins: the host's, and the page's with the policy of a page that declares none.
async function serve(host, server) {
  const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; "
    + "style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; "
    + "connect-src 'none'";
  const site = createServer(async (request, response) => {
    const send = (type, body, fields = {}) => {
      response.writeHead(200, { 'Content-Type': type, ...fields });
      response.end(body);
    };
    if (request.url === '/') send('text/html', frame(host));
    else if (request.url === '/view') {
      send('text/html', host.page.text, { 'Content-Security-Policy': policy });
    } else if (request.url === '/ask') {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { method, params } = JSON.parse(body);
      host.seen.push(method);
      // "Host MUST reject tools/call requests from apps for tools that don't include app".
      const isFine = method === 'tools/call' && host.forPage.includes(params.name);
      const answer = isFine
        ? { result: await server.ask(method, params) }
        : { error: { code: -32000, message: 'refused' } };
      send('application/json', JSON.stringify(answer));
    } else {
      host.leaked = request.url !== '/favicon.ico' && request.url;
      send('text/plain', 'reached', { 'Access-Control-Allow-Origin': '*' });
    }
  });
  await new Promise((resolve) => { site.listen(0, '127.0.0.1', resolve); });
  site.url = `http://127.0.0.1:${site.address().port}`;
  return site;
}

// The host's page: the part of the dialect that the frame needs.
function frame({ input, result }) {
  const json = (value) => JSON.stringify(value).replaceAll('<', '\\u003c');
  return `<!DOCTYPE html><title>host</title>
<iframe id="view" sandbox="allow-scripts" src="/view"></iframe>
<script>
  const view = document.getElementById('view');
  window.said = [];
  const send = (message) => view.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
  window.addEventListener('message', async ({ source, data: { id, method, params } }) => {
    if (source !== view.contentWindow) return;
    window.said.push(method);
    if (method === 'ui/initialize') {
      send({ id, result: { protocolVersion: params.protocolVersion, hostCapabilities: { serverTools: {} },
        hostInfo: { name: 'check', version: '1' }, hostContext: { theme: 'dark' } } });
    } else if (method === 'ui/notifications/initialized') {
      send({ method: 'ui/notifications/tool-input', params: { arguments: ${json(input)} } });
      send({ method: 'ui/notifications/tool-result', params: ${json(result)} });
    } else if (id !== undefined) {
      const asked = { method: 'POST', body: JSON.stringify({ method, params }) };
      send({ id, ...await (await fetch('/ask', asked)).json() });
    }
  });
</script>`;
}

async function look(browser, site, host) {
  await browser.open(site.url);
  const text = (id) => `document.getElementById(${JSON.stringify(id)}).textContent`;
  const celsius = host.result.structuredContent.celsius;
  const view = (code) => browser.evaluate('/view', code);

  await until(`${celsius} °C`, () => view(text('celsius')));
  assert.equal(await view(text('sky')), 'rain');
  // Markup in a result stays text.
  assert.equal(await view(text('city')), CITY);
  assert.equal(await view('document.querySelectorAll("b").length'), 0);

  await view('document.getElementById("again").click()');
  await until(`${celsius + 1} °C`, () => view(text('celsius')));
  assert.deepEqual(host.seen, ['tools/call']);
  const said = await browser.evaluate('/', 'window.said.join()');
  assert.match(said, /^ui\/initialize,ui\/notifications\/initialized,ui\/notifications\/size-changed,/);

  // The frame reaches neither its host nor another origin.
  const blocked = `fetch(${JSON.stringify(`${site.url}/leak`)}).then(() => 'reached', () => 'blocked')`;
  assert.equal(await view(blocked), 'blocked');
  assert.equal(await view('try { parent.document.title } catch { "blocked" }'), 'blocked');
  assert.ok(!host.leaked, host.leaked);
}

async function until(wanted, look) {
  const end = Date.now() + LIMIT;
  let seen;
  while (Date.now() < end) {
    seen = await look().catch((error) => error.message);
    if (seen === wanted) return;
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  assert.equal(seen, wanted);
}

// A headless Chromium. A frame of another origin may have a session of its own.
class Browser {
  #process;
  #next = 1;
  #waiting = new Map();
  #contexts = new Map();

  constructor(profile) {
    // Root, as in a container, has no sandbox.
    const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--remote-debugging-pipe', '--no-first-run', `--user-data-dir=${profile}`, 'about:blank'];
    const stdio = ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'];
    this.#process = spawn('chromium', options, { stdio });
    let text = '';
    this.#process.stdio[4].on('data', (chunk) => {
      const messages = (text + chunk).split('\0');
      text = messages.pop();
      for (const message of messages) this.#take(JSON.parse(message));
    });
  }

  async open(url) {
    const { targetId } = await this.#send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#send('Target.attachToTarget', { targetId, flatten: true });
    await this.#watch(sessionId);
    await this.#send('Page.navigate', { url }, sessionId);
  }

  // In the document whose path this is.
  async evaluate(path, expression) {
    for (const [contextId, sessionId] of [...this.#contexts.values()]) {
      const run = (code) => this.#send(
        'Runtime.evaluate',
        { expression: code, contextId, awaitPromise: true, returnByValue: true },
        sessionId,
      );
      const place = await run('location.pathname').catch(() => undefined);
      if (place?.result.value !== path) continue;
      const { result, exceptionDetails } = await run(expression);
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
      return result.value;
    }
    throw new Error(`no document at ${path}`);
  }

  close() {
    this.#process.kill('SIGKILL');
  }

  async #watch(sessionId) {
    const attach = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true };
    await this.#send('Target.setAutoAttach', attach, sessionId);
    await this.#send('Runtime.enable', {}, sessionId);
  }

  #take({ id, method, params, result, error, sessionId }) {
    if (id !== undefined) {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    } else if (method === 'Target.attachedToTarget') {
      this.#watch(params.sessionId).catch(() => {});
    } else if (method === 'Runtime.executionContextCreated') {
      const { id: contextId, uniqueId } = params.context;
      this.#contexts.set(uniqueId, [contextId, sessionId]);
    } else if (method === 'Runtime.executionContextDestroyed') {
      this.#contexts.delete(params.executionContextUniqueId);
    }
  }

  #send(method, params, sessionId) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }
}

// A client of 2026-07-28: each request says everything about itself.
class Modern {
  constructor(url) {
    this.url = url;
    this.next = 1;
  }

  static async connect(url) {
    const client = new this(url);
    ({ capabilities: client.capabilities } = await client.ask('server/discover', {}));
    return client;
  }

  fields({ method, params }) {
    const name = params.uri ?? params.name;
    const named = name === undefined ? {} : { 'Mcp-Name': name };
    return { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...named };
  }

  params(params) {
    const prefix = 'io.modelcontextprotocol';
    const _meta = {
      [`${prefix}/protocolVersion`]: '2026-07-28',
      [`${prefix}/clientCapabilities`]: capabilities(),
    };
    return { ...params, _meta };
  }

  async ask(method, params) {
    const response = await this.post({ id: this.next++, method, params });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const json = type.startsWith('text/event-stream') ? /^data: (.*"id".*)$/m.exec(text)[1] : text;
    const { result, error } = JSON.parse(json);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async post(message) {
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...this.fields(message),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', ...message, params: this.params(message.params) });
    return fetch(this.url, { method: 'POST', headers, body });
  }
}

// A client of 2025-11-25, with a session.
class Legacy extends Modern {
  static async connect(url) {
    const client = new this(url);
    const clientInfo = { name: 'check', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: capabilities(), clientInfo };
    const response = await client.post({ id: 0, method: 'initialize', params });
    client.session = response.headers.get('mcp-session-id');
    const text = await response.text();
    const { result } = JSON.parse(/\{"jsonrpc".*\}/.exec(text)[0]);
    client.capabilities = result.capabilities;
    await client.post({ method: 'notifications/initialized', params: {} });
    return client;
  }

  fields() {
    if (this.session === undefined) return {};
    return { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': this.session };
  }

  params(params) {
    return params;
  }
}

function capabilities() {
  return { extensions: { [UI]: { mimeTypes: [PAGE] } } };
}

await main(process.argv.slice(2));

// equal.mjs DIRECT BRIDGED
// Fails unless both files have the same result or the same error as JSON, but for what the modern era
// adds to a result: `resultType`, `ttlMs`, `cacheScope`, and the server's name in `_meta`.

import { readFileSync } from 'node:fs';
import { deepStrictEqual } from 'node:assert';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

function read(file) {
  const { result, error } = JSON.parse(readFileSync(file, 'utf8'));
  if (result === undefined) return { error };
  const { resultType, ttlMs, cacheScope, _meta, ...rest } = result;
  const { [SERVER_INFO]: _, ...meta } = _meta ?? {};
  return { ...rest, ...(Object.keys(meta).length > 0 ? { _meta: meta } : {}) };
}

const [direct, bridged] = process.argv.slice(2).map(read);
deepStrictEqual(bridged, direct);

// check.mjs RESULTS EXPECTED [--except FILE BRIDGE VERSION] [SCENARIO]
// Compares what the suite wrote into the folder RESULTS with the file EXPECTED, or with its line for
// SCENARIO alone, prints every difference, and fails if there is one. README.md has the format of
// EXPECTED and of FILE, which excuses checks behind a bridge. The suite's own verdict is not enough: many of its checks pass, or are not made at all,
// when a server does not do what they are about, or is not there.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NOT_SERVED = 'not served';
// In place of the ids of a scenario: all of them.
const ALL = '*';

function main([results, file, ...rest]) {
  const excepted = rest[0] === '--except' ? readExceptions(...rest.splice(0, 4).slice(1)) : new Map();
  const [scenario] = rest;
  const expected = readExpected(file);
  const wanted = scenario ? [scenario] : [...expected.keys()];
  const seen = readResults(results);
  const differences = [];
  let successes = 0;

  for (const name of wanted) {
    const line = expected.get(name);
    const checks = seen.get(name);
    if (line === undefined) differences.push(`${name}: ${file} does not have it`);
    else if (line === NOT_SERVED || excepted.get(name)?.includes(ALL)) {
      differences.push(...excuse(name, checks));
    }
    else if (checks === undefined) differences.push(`${name}: did not run`);
    else {
      differences.push(...compare(name, line, checks, excepted.get(name) ?? []));
      successes += checks.filter(({ status }) => status === 'SUCCESS').length;
    }
  }
  for (const name of seen.keys()) {
    if (!wanted.includes(name)) differences.push(`${name}: ran, and is not expected`);
  }
  const isServed = (name) => expected.get(name) !== NOT_SERVED;
  if (successes === 0 && wanted.some(isServed)) differences.push('there is no SUCCESS at all');

  for (const difference of differences) console.log(difference);
  console.log(`${wanted.length} scenarios, ${successes} checks, ${differences.length} differences`);
  process.exitCode = differences.length === 0 ? 0 : 1;
}

// The lines of the file: from a scenario to what stands behind it.
function readExpected(file) {
  const lines = readFileSync(file, 'utf8').split('\n').map((line) => line.trim());
  return new Map(
    lines.filter((line) => line && !line.startsWith('#')).map((line) => line.split(': ', 2)),
  );
}

// The ids of the checks that cannot pass behind this bridge, by their scenarios.
function readExceptions(file, bridge, version) {
  const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
  const excepted = new Map();
  for (const line of lines) {
    const [bridges, versionOf, scenario, ...ids] = line.split(': ', 1)[0].split(' ');
    if (!line.includes(': ')) throw new Error(`no reason: ${line}`);
    if (versionOf === version && (bridges === 'all' || bridges.split(',').includes(bridge))) {
      excepted.set(scenario, [...(excepted.get(scenario) ?? []), ...ids]);
    }
  }
  return excepted;
}

// The checks of each scenario. Every run of one has a folder: SCENARIO-TIME, or server-SCENARIO-TIME;
// a scenario `auth/NAME` has it in a folder `auth`.
function readResults(results, prefix = '') {
  const seen = new Map();
  for (const folder of readdirSync(results)) {
    const [, name] = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder) ?? [];
    const path = join(results, folder);
    if (name === undefined && prefix === '') {
      for (const [inner, checks] of readResults(path, `${folder}/`)) seen.set(inner, checks);
    } else if (name === undefined || seen.has(prefix + name)) throw new Error(`what is ${path}?`);
    else seen.set(prefix + name, JSON.parse(readFileSync(join(path, 'checks.json'), 'utf8')));
  }
  return seen;
}

// A scenario that needs what is not served is not run, or does not pass.
function excuse(name, checks = []) {
  const has = (wanted) => checks.some(({ status }) => status === wanted);
  return has('SUCCESS') && !has('FAILURE') ? [`${name}: passes, and is not excused then`] : [];
}

function compare(name, line, checks, excepted) {
  const needed = new Set();
  const isExcepted = (id) => excepted.includes(id) && needed.add(id);
  const bad = checks.filter(({ status }) => !['SUCCESS', 'SKIPPED', 'INFO'].includes(status));
  const differences = bad.filter(({ id }) => !isExcepted(id)).map(
    ({ id, status, errorMessage }) => `${name}: ${status} ${id}: ${errorMessage ?? 'says no more'}`,
  );
  const expected = new Map(line.split(' ').map(idAndNumber));
  const successes = countSuccesses(checks);
  for (const id of new Set([...expected.keys(), ...successes.keys()])) {
    const [wanted, got] = [expected.get(id) ?? 0, successes.get(id) ?? 0];
    if (wanted === got || (got < wanted && isExcepted(id))) continue;
    differences.push(`${name}: ${got} instead of ${wanted} SUCCESS of ${id}`);
  }
  for (const id of excepted.filter((id) => !needed.has(id))) {
    differences.push(`${name}: ${id} passes, and is not excused then`);
  }
  return differences;
}

// `id` or `id*5`.
function idAndNumber(word) {
  const [id, number = '1'] = word.split('*');
  return [id, Number(number)];
}

function countSuccesses(checks) {
  const counts = new Map();
  for (const { id, status } of checks) {
    if (status === 'SUCCESS') counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

main(process.argv.slice(2));

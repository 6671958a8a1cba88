// wasi.mjs MODULE [ARGUMENT...]
// Runs a WASI program with the standard streams of this process, and nothing else of the system.
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { argv, exit } from "node:process";
import { WASI } from "node:wasi";

const [file, ...rest] = argv.slice(2);
// Opened again, because Node may have pipes not block, and a program without threads reads nothing then.
const wasi = new WASI({
  version: "preview1",
  args: [file, ...rest],
  stdin: openSync("/dev/stdin", "r"),
  stdout: openSync("/dev/stdout", "w"),
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(file));
exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())));

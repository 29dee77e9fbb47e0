import { instantiate, type Sotto } from "./core.js";

export { middleware, type Middleware } from "./ai.js";
export * from "./core.js";
export { forNextPrompt } from "./history.js";
export { read, wrapFetch } from "./streams.js";

/** compile loads a module that lies beside this file. */
async function compile(name: string): Promise<WebAssembly.Module> {
  const url = new URL(name, import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import(/* @vite-ignore */ "node:" + "fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`load ${url}: status ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

const loaded = new Map<string, Promise<Sotto>>();

/**
 * load makes a reader. All callers share it. With `ownDialects` the module is a little larger,
 * and `dialect` may be an object. With `history` it is larger again: it takes such dialects too, and
 * `nextRequest` and `forNextPrompt` read the requests of every API.
 */
export function load({ ownDialects = false, history = false } = {}): Promise<Sotto> {
  const name = history ? "./sotto-history.wasm" : ownDialects ? "./sotto-dialects.wasm" : "./sotto.wasm";
  let sotto = loaded.get(name);
  if (!sotto) {
    sotto = compile(name).then(instantiate);
    loaded.set(name, sotto);
    sotto.catch(() => loaded.delete(name)); // the next caller tries again
  }
  return sotto;
}

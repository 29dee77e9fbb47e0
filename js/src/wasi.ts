/**
 * The few functions of WASI preview 1 that a Go program calls when it starts, runs and fails.
 * The module reads no files, no environment and no network.
 */
export function wasi(memory: () => DataView): WebAssembly.ModuleImports {
  const ok = 0, badFile = 8;
  let complaint = "";
  const decoder = new TextDecoder();

  /** An empty list of arguments, or of variables. */
  const none = (count: number, size: number) => {
    memory().setUint32(count, 0, true);
    memory().setUint32(size, 0, true);
    return ok;
  };
  return {
    args_get: () => ok,
    args_sizes_get: none,
    environ_get: () => ok,
    environ_sizes_get: none,
    clock_time_get(_id: number, _precision: bigint, at: number) {
      memory().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return ok;
    },
    random_get(at: number, n: number) {
      const bytes = new Uint8Array(memory().buffer, at, n);
      for (let i = 0; i < n; i += 65536) crypto.getRandomValues(bytes.subarray(i, Math.min(n, i + 65536)));
      return ok;
    },
    /** What the program writes is what it says before it fails: the beginning is kept. */
    fd_write(_file: number, parts: number, count: number, written: number) {
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = memory().getUint32(parts + 8 * i, true), n = memory().getUint32(parts + 8 * i + 4, true);
        if (complaint.length < 2000) complaint += decoder.decode(new Uint8Array(memory().buffer, at, n));
        total += n;
      }
      memory().setUint32(written, total, true);
      return ok;
    },
    proc_exit(status: number) {
      throw new WebAssembly.RuntimeError(`the reader stopped with status ${status}: ${complaint.split("\n")[0]}`);
    },
    sched_yield: () => ok,
    poll_oneoff: () => ok,
    fd_close: () => badFile,
    fd_fdstat_get: () => badFile,
    fd_fdstat_set_flags: () => badFile,
    fd_prestat_get: () => badFile,
    fd_prestat_dir_name: () => badFile,
    fd_read: () => badFile,
    fd_seek: () => badFile,
    fd_filestat_get: () => badFile,
    path_open: () => badFile,
    path_filestat_get: () => badFile,
  };
}

/**
 * Settings of the process that keep a daemon small. They hold for the whole process, so the command makes them and not
 * the library.
 */
import * as Sqlite from '@latchkey/system/sqlite'

/** A daemon that has just started needs no limit yet, and loading `v8` would make the start longer. */
const startMs = 100

/** Returns what to call after each start of a worker thread, as `onWorkerStart`: it sets V8's flags back. */
export function limitDaemonMemory(): () => void {
  setTimeout(limitYoungGeneration, startMs).unref()
  let collect: (() => void) | undefined
  Sqlite.collectWith(() => {
    collect ??= exposeCollector()
    collect()
  })
  return limitYoungGeneration
}

/**
 * Keeps V8 from growing the space for new objects from one megabyte to sixteen under load. Requests leave little
 * behind, so a small one is as fast, and the daemon stays a third smaller.
 */
function limitYoungGeneration(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
}

function exposeCollector(): () => void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void
}

/**
 * Process settings that keep a daemon small. They apply to the whole process, so the command sets them and not the
 * library.
 */
import * as Sqlite from '@latchkey/system/sqlite'

/** A newly started daemon needs no limit yet, and loading `v8` would delay the start. */
const startMs = 100

/**
 * Returns a function to call after each start of a worker thread, as `onWorkerStart`, because that resets V8's flags.
 */
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
 * Prevents V8 from growing the space for new objects from one megabyte to sixteen under load. Requests leave little
 * garbage, so a small space is as fast, and the daemon stays a third smaller.
 *
 * One thread collects so small a space. A second one has too little to do, and the daemon waits until it is scheduled:
 * on a busy machine this took five times as long as the collection.
 */
function limitYoungGeneration(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-parallel-scavenge')
}

function exposeCollector(): () => void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void
}

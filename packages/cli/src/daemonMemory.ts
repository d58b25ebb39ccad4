/**
 * Settings of the process that keep a daemon small. They hold for the whole process, so the command makes them and not
 * the library.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as Sqlite from '@latchkey/system/sqlite'

/** Returns what to call after each start of a worker thread, as `onWorkerStart`: it sets V8's flags back. */
export function limitDaemonMemory(): () => void {
  limitYoungGeneration()
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
  setFlagsFromString('--semi-space-growth-factor=1')
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

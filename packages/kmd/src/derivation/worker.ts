import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import * as Romix from './Romix.js'

/** The lanes of one derivation. Every worker takes the next `width` lanes until none is left. */
export type Assignment = {
  /** In shared memory, like the number of the next free lane. */
  blocks: Uint8Array
  nextLane: Int32Array
  n: number
  r: number
  p: number
  width: number
}

/** The number of lanes that this worker has mixed, once none is left. */
export type Finished = { lanes: number }

/**
 * Signing runs on the main thread. With as many workers as cores, it would get half a core while a wallet is being
 * unlocked; at this niceness it gets nine tenths. An otherwise idle machine derives no slower.
 */
const niceness = 10

/** Long enough for the next assignment to arrive, which overwrites the memory anyway. */
const wipeDelayMs = 5

lowerPriority()
const romix = Romix.instantiate(workerData as Romix.CompiledModule)
let wiping: NodeJS.Timeout | undefined

parentPort!.on('message', (assignment: Assignment) => {
  clearTimeout(wiping)
  parentPort!.postMessage({ lanes: mixLanes(assignment) } satisfies Finished)
  wiping = setTimeout(romix.wipe, wipeDelayMs)
})

function mixLanes({ blocks, nextLane, n, r, p, width }: Assignment): number {
  let mixed = 0
  for (;;) {
    const first = Atomics.add(nextLane, 0, width)
    const lanes = Math.min(width, p - first)
    if (lanes <= 0) return mixed
    romix.mix({ blocks: blocks.subarray(first * 128 * r, (first + lanes) * 128 * r), n, r, width })
    mixed += lanes
  }
}

/** Only on Linux, "process 0" means the calling thread. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    if (getPriority(0) < niceness) setPriority(0, niceness)
  } catch {
    // A sandbox may forbid this. Deriving at normal priority is equally correct.
  }
}

/** Reading a log from its beginning, and telling an end that was never finished from damage. */
import type { FileHandle } from 'node:fs/promises'
import type { Change } from '../../ledger/Change.js'
import type { Genesis } from '../../ledger/Genesis.js'
import * as Preamble from './Preamble.js'
import * as Record from './Record.js'
import { Window } from './Window.js'

export type Scanning = { handle: FileHandle; path: string; genesis: Genesis; replay: (change: Change) => void }

export type Scanned = {
  /** Where the last whole record ends. Whatever is after it was still being written when the program ended. */
  end: number
  /** Where the moment ends that a compacted log begins with; in others, where the first record begins. */
  compactedEnd: number
}

export async function scan({ handle, path, genesis, replay }: Scanning): Promise<Scanned> {
  const { size } = await handle.stat()
  const window = new Window(handle, size)
  const preambleBytes = Math.min(Preamble.length, size)
  await window.load(0, preambleBytes)
  const fault = Preamble.fault(window.view(0, preambleBytes), genesis.chain.genesisHash)
  if (fault !== undefined) throw new LogError(`${path} cannot be used: ${fault}`)
  let offset = Preamble.length
  let compactedEnd = offset
  while (offset < size) {
    const head = await headAt(window, offset)
    const payload = head && (await payloadAt(window, offset, head))
    if (head === undefined || payload === undefined) break
    const type = perform(payload, { path, offset, genesis, replay })
    const end = offset + Record.headBytes + head.payloadBytes
    if (offset === Preamble.length && type === 'moment') compactedEnd = end
    offset = end
  }
  if (offset < size) await checkUnfinished(window, offset, path)
  return { end: offset, compactedEnd }
}

async function headAt(window: Window, offset: number): Promise<Record.Head | undefined> {
  if (offset + Record.headBytes > window.size) return undefined
  if (!window.has(offset, Record.headBytes)) await window.load(offset, Record.headBytes)
  return Record.headIn(window.view(offset, Record.headBytes))
}

/** The payload, if it is there and as it was written. */
async function payloadAt(window: Window, offset: number, head: Record.Head): Promise<Buffer | undefined> {
  const start = offset + Record.headBytes
  if (start + head.payloadBytes > window.size) return undefined
  if (!window.has(start, head.payloadBytes)) await window.load(start, head.payloadBytes)
  const payload = window.view(start, head.payloadBytes)
  return Record.isIntact(payload, head) ? payload : undefined
}

type Performing = Omit<Scanning, 'handle'> & { offset: number }

function perform(payload: Buffer, { path, offset, genesis, replay }: Performing): Change['type'] {
  try {
    const change = Record.decode(payload, genesis)
    replay(change)
    return change.type
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const cure = 'the file was left as it is; use the version of this program that wrote it, or start with another path'
    throw new LogError(`${path}: the change at byte ${offset} cannot be made again: ${why}; ${cure}`, { cause: error })
  }
}

/** Records are written one after the other, so nothing whole can follow one that was never finished. */
async function checkUnfinished(window: Window, offset: number, path: string): Promise<void> {
  const head = await headAt(window, offset)
  const from = head === undefined ? offset + 1 : offset + Record.headBytes + head.payloadBytes
  const intact = await findRecord(window, from)
  if (intact === undefined) return
  throw new LogError(
    `${path} is damaged at byte ${offset}: what follows, from byte ${intact} on, is intact, so it was not the last to ` +
      'be written. Nothing was changed. Put back a copy of the file, or give up everything from the damage on with: ' +
      `truncate -s ${offset} ${path}`,
  )
}

/** The first place from there on where a whole record is. */
async function findRecord(window: Window, from: number): Promise<number | undefined> {
  for (let offset = from; offset + Record.headBytes < window.size; offset++) {
    if (!window.has(offset, Record.headBytes)) await window.load(offset, Record.headBytes)
    // Most places are ruled out by this alone, and there may be hundreds of millions of them.
    const payloadBytes = window.uint32(offset)
    if (payloadBytes === 0 || payloadBytes > window.size - offset - Record.headBytes) continue
    const head = Record.headIn(window.view(offset, Record.headBytes))
    if (head !== undefined && (await payloadAt(window, offset, head)) !== undefined) return offset
  }
  return undefined
}

export class LogError extends Error {
  override name = 'LogError'
}

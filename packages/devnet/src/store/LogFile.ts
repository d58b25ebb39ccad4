/**
 * An append-only file of changes that outlives the program however it ends. Changes are buffered as they happen and go
 * to the disk together: while one lot is being written and synced, the next one gathers.
 */
import { type FileHandle, open } from 'node:fs/promises'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Lock from '@latchkey/system/lock'
import type { Change } from '../ledger/Change.js'
import type { Genesis } from '../ledger/Genesis.js'
import type { Key } from '../ledger/Key.js'
import type { Snapshot } from '../ledger/Snapshot.js'
import { type Deferred, deferred } from './log/Deferred.js'
import * as Preamble from './log/Preamble.js'
import * as Record from './log/Record.js'
import { LogError, type Scanned, scan } from './log/Scan.js'

export { LogError } from './log/Scan.js'

export type LogFileOptions = {
  path: string
  genesis: Genesis
  /** Told everything that is in the file, in order, before it can be appended to. */
  replay: (change: Change) => void
}

/** Appending waits for nobody, so there has to be an end to what waits for the disk. */
export const maxOutstandingBytes = 64 * 1024 * 1024

type Lot = { readonly type: 'lot'; readonly records: Buffer[]; bytes: number; end: Deferred | undefined }
type Compaction = { readonly type: 'compaction'; readonly moment: Snapshot; end: Deferred }
type Job = Lot | Compaction
type Opened = { path: string; genesisHash: Key; lock: number; handle: FileHandle; scanned: Scanned; cutBytes: number }

const done = Promise.resolve()

export class LogFile {
  /** What was found after the last whole record when it was opened, and cut off. */
  readonly cutBytes: number
  readonly #path: string
  readonly #genesisHash: Key
  readonly #lock: number
  #handle: FileHandle
  #size: number
  #compactedSize: number
  #outstandingBytes = 0
  readonly #jobs: Job[] = []
  #running: Job | undefined
  #isScheduled = false
  #failure: LogError | undefined
  #closing: Promise<void> | undefined

  private constructor({ path, genesisHash, lock, handle, scanned, cutBytes }: Opened) {
    this.#path = path
    this.#genesisHash = genesisHash
    this.#lock = lock
    this.#handle = handle
    this.#size = scanned.end
    this.#compactedSize = scanned.compactedEnd
    this.cutBytes = cutBytes
  }

  /** Refuses, and leaves the file as it is, unless all of it but an unfinished end can be replayed. */
  static async open({ path, genesis, replay }: LogFileOptions): Promise<LogFile> {
    const { genesisHash } = genesis.chain
    const lock = Lock.take(`${path}.lock`)
    let handle: FileHandle | undefined
    try {
      handle = await openFile(path, genesisHash)
      const scanned = await scan({ handle, path, genesis, replay })
      const cutBytes = (await handle.stat()).size - scanned.end
      if (cutBytes > 0) {
        await handle.truncate(scanned.end)
        await handle.sync()
      }
      return new LogFile({ path, genesisHash, lock, handle, scanned, cutBytes })
    } catch (error) {
      await handle?.close()
      Lock.release(lock)
      throw error
    }
  }

  /** Whether everything that was appended is on the disk: nothing to wait for. */
  get isSynced(): boolean {
    return this.#failure === undefined && this.#lastLot() === undefined
  }

  /** What was appended since the file was compacted; nothing while that is under way, so that nobody asks for it twice. */
  get bytesSinceCompaction(): number {
    if (this.#running?.type === 'compaction' || this.#jobs.some(({ type }) => type === 'compaction')) return 0
    return this.#size - this.#compactedSize + this.#outstandingBytes
  }

  /** Throws if it cannot be taken; then it is as if it had not been tried. */
  append(change: Change): void {
    this.#checkUsable()
    if (this.#outstandingBytes >= maxOutstandingBytes) {
      throw new LogError(`${this.#path}: the disk is too slow, ${this.#outstandingBytes} bytes wait to be written`)
    }
    const record = Record.encode(change, this.#genesisHash)
    const last = this.#jobs.at(-1)
    if (last?.type === 'lot') {
      last.records.push(record)
      last.bytes += record.length
    } else {
      this.#add({ type: 'lot', records: [record], bytes: record.length, end: undefined })
    }
    this.#outstandingBytes += record.length
  }

  /** Resolves when everything appended before is on the disk. Rejects, now and ever after, once something could not be. */
  synced(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const lot = this.#lastLot()
    if (lot === undefined) return done
    lot.end ??= deferred()
    return lot.end.promise
  }

  /**
   * Replaces the file by one that begins with this moment, which must be the one after everything appended before. What
   * is appended from now on follows it. If the new file cannot be written the old one stays in use.
   */
  compact(moment: Snapshot): Promise<void> {
    this.#checkUsable()
    const end = deferred()
    this.#add({ type: 'compaction', moment, end })
    return end.promise
  }

  /** Writes what is outstanding, then gives the file back. Rejects if not everything got to the disk. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      for (let job = this.#lastJob(); job !== undefined; job = this.#lastJob()) {
        job.end ??= deferred()
        await job.end.promise.catch(() => {})
      }
      if (this.#failure !== undefined) throw this.#failure
    } finally {
      await this.#handle.close()
      Lock.release(this.#lock)
    }
  }

  #checkUsable(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#closing !== undefined) throw new LogError(`${this.#path} was closed`)
  }

  #lastJob(): Job | undefined {
    return this.#jobs.at(-1) ?? this.#running
  }

  #lastLot(): Lot | undefined {
    const lot = this.#jobs.findLast((job) => job.type === 'lot')
    return lot ?? (this.#running?.type === 'lot' ? this.#running : undefined)
  }

  /** Everything that happens in one turn of the event loop goes to the disk together. */
  #add(job: Job): void {
    this.#jobs.push(job)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#run())
  }

  async #run(): Promise<void> {
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) {
      this.#running = job
      try {
        await (job.type === 'lot' ? this.#write(job) : this.#replace(job))
        this.#running = undefined
        job.end?.resolve()
      } catch (error) {
        this.#running = undefined
        job.end?.reject(error as Error)
        if (this.#failure !== undefined) for (const left of this.#jobs.splice(0)) left.end?.reject(this.#failure)
      }
    }
    this.#isScheduled = false
  }

  async #write({ records, bytes }: Lot): Promise<void> {
    try {
      const all = records.length === 1 ? records[0]! : Buffer.concat(records, bytes)
      this.#size = await AtomicFile.writeAt(this.#handle, all, this.#size)
      await this.#handle.datasync()
      this.#outstandingBytes -= bytes
    } catch (error) {
      throw this.#fail(error)
    }
  }

  async #replace({ moment }: Compaction): Promise<void> {
    const record = Record.encode({ type: 'moment', moment }, this.#genesisHash)
    const parts = [Preamble.encode(this.#genesisHash), record]
    const before = this.#handle
    this.#handle = await AtomicFile.replace({ path: this.#path, temporaryPath: temporary(this.#path), parts })
    this.#size = Preamble.length + record.length
    this.#compactedSize = this.#size
    try {
      await before.close()
      await AtomicFile.syncDirectory(this.#path)
    } catch (error) {
      throw this.#fail(error)
    }
  }

  /** For good: nobody knows what is on the disk after a failed sync, and what comes later must not follow a gap. */
  #fail(cause: unknown): LogError {
    const why = cause instanceof Error ? cause.message : String(cause)
    this.#failure = new LogError(
      `${this.#path} cannot be written: ${why}; make room or put the disk right, and start again: what was acknowledged is there`,
      { cause },
    )
    return this.#failure
  }
}

/** Only whoever holds the lock uses it, so what a program that was killed left behind is written over. */
function temporary(path: string): string {
  return `${path}.new`
}

async function openFile(path: string, genesisHash: Key): Promise<FileHandle> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const parts = [Preamble.encode(genesisHash)]
  const handle = await AtomicFile.replace({ path, temporaryPath: temporary(path), parts })
  await AtomicFile.syncDirectory(path)
  return handle
}

/**
 * An append-only log of changes that survives a crash. Changes are written and synced in batches: while one batch is
 * being written to the disk, the next one collects changes.
 */
import { type FileHandle, open } from 'node:fs/promises'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Lock from '@latchkey/system/lock'
import { StateFileError } from '../errors.js'
import type { Genesis } from '../ledger/Genesis.js'
import type { LedgerChange, Snapshot } from '../ledger/LedgerChange.js'
import * as ChangeRecord from './state-file/ChangeRecord.js'
import * as FileHeader from './state-file/FileHeader.js'
import { type ScanResult, scan } from './state-file/scan.js'

export type StateFileOptions = {
  path: string
  genesis: Genesis
  /** Called with every change in the file, in order, before the file can be appended to. */
  replay: (change: LedgerChange) => void
}

/** Appending does not wait for the disk, so the number of waiting bytes is limited. */
export const maxOutstandingBytes = 64 * 1024 * 1024

/** A promise with the functions that settle it. */
type Deferred = {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

type Batch = { readonly type: 'batch'; readonly records: Buffer[]; bytes: number; end: Deferred | undefined }
type Compaction = { readonly type: 'compaction'; readonly snapshot: Snapshot; end: Deferred }
type Job = Batch | Compaction
type Opened = {
  path: string
  genesis: Genesis
  lock: number
  handle: FileHandle
  scanned: ScanResult
  truncatedBytes: number
}

const done = Promise.resolve()

export class StateFile {
  /** Bytes of an unfinished record that were truncated when the file was opened. */
  readonly truncatedBytes: number
  readonly #path: string
  readonly #genesis: Genesis
  readonly #lock: number
  #handle: FileHandle
  #size: number
  #compactedSize: number
  #outstandingBytes = 0
  readonly #jobs: Job[] = []
  #running: Job | undefined
  #isScheduled = false
  #failure: StateFileError | undefined
  #closing: Promise<void> | undefined

  private constructor({ path, genesis, lock, handle, scanned, truncatedBytes }: Opened) {
    this.#path = path
    this.#genesis = genesis
    this.#lock = lock
    this.#handle = handle
    this.#size = scanned.end
    this.#compactedSize = scanned.compactedEnd
    this.truncatedBytes = truncatedBytes
  }

  /** Replays the whole file except for an unfinished record at its end. On an error the file is not changed. */
  static async open({ path, genesis, replay }: StateFileOptions): Promise<StateFile> {
    const lock = takeLock(path)
    let handle: FileHandle | undefined
    try {
      handle = await openFile(path, genesis)
      const scanned = await scan({ handle, path, genesis, replay })
      const truncatedBytes = (await handle.stat()).size - scanned.end
      if (truncatedBytes > 0) {
        await handle.truncate(scanned.end)
        await handle.sync()
      }
      return new StateFile({ path, genesis, lock, handle, scanned, truncatedBytes })
    } catch (error) {
      await handle?.close()
      Lock.release(lock)
      throw unavailable(path, error)
    }
  }

  /** Whether everything that was appended is on the disk. */
  get isSynced(): boolean {
    return this.#failure === undefined && this.#lastBatch() === undefined
  }

  /** Bytes appended since the last compaction; 0 during one, so that a second is not started. */
  get bytesSinceCompaction(): number {
    if (this.#running?.type === 'compaction' || this.#jobs.some(({ type }) => type === 'compaction')) return 0
    return this.#size - this.#compactedSize + this.#outstandingBytes
  }

  /** Adds a change to the next batch. If it throws, the change was not added. */
  append(change: LedgerChange): void {
    this.#checkUsable()
    if (this.#outstandingBytes >= maxOutstandingBytes) {
      const message = `${this.#path}: the disk is too slow, ${this.#outstandingBytes} bytes wait to be written`
      throw new StateFileError('state_file_too_slow', message)
    }
    const record = ChangeRecord.encode(change, this.#genesis.chain.genesisHash)
    const last = this.#jobs.at(-1)
    if (last?.type === 'batch') {
      last.records.push(record)
      last.bytes += record.length
    } else {
      this.#add({ type: 'batch', records: [record], bytes: record.length, end: undefined })
    }
    this.#outstandingBytes += record.length
  }

  /** Resolves when everything appended before is on the disk. Always rejects after a failed write. */
  synced(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const batch = this.#lastBatch()
    if (batch === undefined) return done
    batch.end ??= deferred()
    return batch.end.promise
  }

  /**
   * Replaces the file with one that begins with this snapshot, which must include everything appended before. Later
   * changes follow it. If the new file cannot be written, the old one stays in use.
   */
  compact(snapshot: Snapshot): Promise<void> {
    this.#checkUsable()
    const end = deferred()
    this.#add({ type: 'compaction', snapshot, end })
    return end.promise
  }

  /** Writes outstanding changes, closes the file and releases its lock. Rejects if a change was not written. */
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
    if (this.#closing !== undefined) throw new StateFileError('state_file_closed', `${this.#path} was closed`)
  }

  #lastJob(): Job | undefined {
    return this.#jobs.at(-1) ?? this.#running
  }

  #lastBatch(): Batch | undefined {
    const batch = this.#jobs.findLast((job) => job.type === 'batch')
    return batch ?? (this.#running?.type === 'batch' ? this.#running : undefined)
  }

  /** Changes in one turn of the event loop are written together. */
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
        await (job.type === 'batch' ? this.#write(job) : this.#replace(job))
        this.#running = undefined
        job.end?.resolve()
      } catch (error) {
        this.#running = undefined
        job.end?.reject(error as Error)
        if (this.#failure !== undefined) for (const other of this.#jobs.splice(0)) other.end?.reject(this.#failure)
      }
    }
    this.#isScheduled = false
  }

  async #write({ records, bytes }: Batch): Promise<void> {
    try {
      const all = records.length === 1 ? records[0]! : Buffer.concat(records, bytes)
      this.#size = await AtomicFile.writeAt(this.#handle, all, this.#size)
      await this.#handle.datasync()
      this.#outstandingBytes -= bytes
    } catch (error) {
      throw this.#fail(error)
    }
  }

  async #replace({ snapshot }: Compaction): Promise<void> {
    const record = ChangeRecord.encode({ type: 'restore', snapshot }, this.#genesis.chain.genesisHash)
    const parts = [FileHeader.encode(this.#genesis.fingerprint), record]
    const before = this.#handle
    this.#handle = await AtomicFile.replace({ path: this.#path, temporaryPath: temporary(this.#path), parts })
    this.#size = FileHeader.length + record.length
    this.#compactedSize = this.#size
    try {
      await before.close()
      await AtomicFile.syncDirectory(this.#path)
    } catch (error) {
      throw this.#fail(error)
    }
  }

  /** Permanent: after a failed sync the content of the disk is unknown, and later changes must not follow a gap. */
  #fail(cause: unknown): StateFileError {
    const why = cause instanceof Error ? cause.message : String(cause)
    this.#failure = new StateFileError('state_file_write_failed', `${this.#path} cannot be written: ${why}`, { cause })
    return this.#failure
  }
}

/** Used only by the holder of the lock, so that a file left by a killed program is overwritten. */
function temporary(path: string): string {
  return `${path}.new`
}

function takeLock(path: string): number {
  try {
    return Lock.take(`${path}.lock`)
  } catch (error) {
    const isLocked = error instanceof Lock.LockError && error.code === 'locked'
    if (!isLocked) throw unavailable(path, error)
    throw new StateFileError('state_file_locked', `${path} is in use by another devnet`, { cause: error })
  }
}

function unavailable(path: string, cause: unknown): StateFileError {
  if (cause instanceof StateFileError) return cause
  const hint = cause instanceof Lock.LockError ? cause.hint : undefined
  const message = `${path} cannot be opened: ${(cause as Error).message}`
  return new StateFileError('state_file_unavailable', message, { ...(hint !== undefined && { hint }), cause })
}

async function openFile(path: string, { fingerprint }: Genesis): Promise<FileHandle> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const parts = [FileHeader.encode(fingerprint)]
  const handle = await AtomicFile.replace({ path, temporaryPath: temporary(path), parts })
  await AtomicFile.syncDirectory(path)
  return handle
}

function deferred(): Deferred {
  let resolve!: () => void
  let reject!: (error: Error) => void
  const promise = new Promise<void>((whenResolved, whenRejected) => {
    resolve = whenResolved
    reject = whenRejected
  })
  // An unhandled rejection must not end the process.
  promise.catch(() => {})
  return { promise, resolve, reject }
}

/**
 * The directory of a development stack: ledger, wallets, settlements and claims. It is either persistent, so that a
 * restart continues even after a kill, or temporary and removed with the stack.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Json } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Lock from '@latchkey/system/lock'
import { CommandError } from '../errors.js'
import * as StackPointer from '../stack/StackPointer.js'
import { markerName, shortPath } from '../stack/stateDirectory.js'

const { lockName } = StackPointer
const markerKind = 'latchkey dev stack'
/** The state that `--fresh` replaced, until the next `--fresh`. */
const previousName = 'previous'
/** The state that `--fresh` is moving. If the stack is killed meanwhile, the next start finishes the move. */
const movingName = 'moving'

export type StackDirectory = {
  readonly path: string
  readonly isEphemeral: boolean
  /** Whether an earlier stack has left its ledger and keys there. */
  readonly isKept: boolean
  /** The buyer of the earlier stack, if its start got that far. */
  readonly buyer: string | undefined
  readonly recordBuyer: (address: string) => void
  /** Releases the directory, and removes a temporary one. */
  readonly close: () => void
}

/** Opens a temporary directory. `onDirectory` is called before anything is written to it. */
export function openEphemeral(onDirectory: (path: string) => void = () => {}): StackDirectory {
  const path = mkdtempSync(join(tmpdir(), 'latchkey-dev-'))
  onDirectory(path)
  const close = (): void => rmSync(path, { recursive: true, force: true })
  try {
    // For systems that do not report when a process has started.
    Lock.take(join(path, lockName))
    writeMarker(path, '')
  } catch (error) {
    close()
    throw error
  }
  const isKept = false
  return { path, isEphemeral: true, isKept, buyer: undefined, recordBuyer: (buyer) => writeMarker(path, buyer), close }
}

/**
 * Opens a persistent directory, for one stack at a time.
 *
 * @throws CommandError `stack_already_running`, `invalid_file` if the directory is another program's, or
 * `file_unwritable`
 */
export function open(path: string, { isFresh = false }: { isFresh?: boolean | undefined } = {}): StackDirectory {
  const lock = explained(path, () => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    checkOwner(path)
    return Lock.take(join(path, lockName))
  })
  try {
    return explained(path, () => {
      if (isFresh || existsSync(join(path, movingName))) moveAway(path)
      const { buyer } = readMarker(path) ?? { buyer: undefined }
      const isKept = buyer !== undefined && buyer !== ''
      if (!isKept) writeMarker(path, '')
      const recordBuyer = (address: string): void => writeMarker(path, address)
      const close = (): void => Lock.release(lock)
      return { path, isEphemeral: false, isKept, buyer: isKept ? buyer : undefined, recordBuyer, close }
    })
  } catch (error) {
    Lock.release(lock)
    throw error
  }
}

/** The directory of another program must be neither used nor emptied. */
function checkOwner(path: string): void {
  const isNew = readdirSync(path).every((name) => name === lockName)
  if (isNew || readMarker(path) !== undefined) return
  throw new CommandError('invalid_file', `${path} is not a dev stack's directory`, {
    hint: 'give a new or empty directory with --dir',
  })
}

/**
 * One previous version is kept, because it may contain imported keys. If the move is interrupted, the next start
 * finishes it, and nothing is lost.
 */
function moveAway(path: string): void {
  const [moving, previous] = [join(path, movingName), join(path, previousName)]
  const names = readdirSync(path).filter((name) => ![lockName, previousName, movingName, markerName].includes(name))
  const { buyer = '' } = readMarker(path) ?? {}
  if (buyer === '' && !existsSync(moving)) {
    // An incomplete start does not count as a version.
    for (const name of names) rmSync(join(path, name), { recursive: true, force: true })
    return
  }
  mkdirSync(moving, { recursive: true, mode: 0o700 })
  if (readMarker(moving) === undefined) writeMarker(moving, buyer)
  for (const name of names) renameSync(join(path, name), join(moving, name))
  writeMarker(path, '')
  rmSync(previous, { recursive: true, force: true })
  renameSync(moving, previous)
}

type Marker = { readonly buyer: string }

function readMarker(path: string): Marker | undefined {
  try {
    const marker: unknown = JSON.parse(readFileSync(join(path, markerName), 'utf8'))
    if (!Json.isObject(marker) || marker['kind'] !== markerKind) return undefined
    return { buyer: typeof marker['buyer'] === 'string' ? marker['buyer'] : '' }
  } catch {
    return undefined
  }
}

function writeMarker(path: string, buyer: string): void {
  AtomicFile.replaceSync(join(path, markerName), `${JSON.stringify({ kind: markerKind, version: 1, buyer })}\n`)
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    if (cause instanceof Lock.LockError && cause.code === 'locked') throw alreadyRunning(path, cause)
    throw new CommandError('file_unwritable', `${path} cannot be used: ${(cause as Error).message}`, {
      hint: 'give another directory with --dir, or a temporary one with --ephemeral',
      cause,
    })
  }
}

/** Explains what is running and what to do about it. */
function alreadyRunning(path: string, cause: unknown): CommandError {
  const stack = StackPointer.find().running.find(({ directory }) => directory === path)
  const where = stack === undefined ? 'and is starting or stopping' : `at ${stack.sellerUrl} (process ${stack.pid})`
  const stop = stack === undefined ? '' : ` To stop it, press Ctrl-C in its terminal or run kill ${stack.pid}.`
  return new CommandError('stack_already_running', `a dev stack is already running in ${shortPath(path)} ${where}`, {
    hint: `Other commands use it: try latchkey console.${stop} To start another, run latchkey dev --ephemeral.`,
    cause,
  })
}

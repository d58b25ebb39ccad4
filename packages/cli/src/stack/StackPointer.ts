/**
 * Finds the running development stacks of this user, with a file for each in the state directory. A file is a hint,
 * never a proof: a killed stack leaves its file behind, and its ports may then belong to anyone. A file counts only if
 * it and its directory belong to this user alone, and if the process that wrote it is still running. Its content is
 * validated strictly: addresses on the loopback interface, a data directory inside the directory of the stack, no
 * network.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Lock from '@latchkey/system/lock'
import * as ProcessGroup from '../dev/ProcessGroup.js'
import { kmdDirectoryName, pointerDirectory } from './stateDirectory.js'

/** A stack, as described to other processes. */
export type StackPointer = {
  readonly pid: number
  /** Process ids are reused, but the start time, if the system reports it, identifies one process. Empty otherwise. */
  readonly startTime: string
  readonly startedMs: number
  readonly directory: string
  readonly devnetUrl: string
  readonly indexerUrl: string
  readonly kmdUrl: string
  readonly facilitatorUrl: string
  readonly sellerUrl: string
  /** The address of the buyer's key. */
  readonly buyer: string
}

const maxBytes = 16 * 1024
const maxFiles = 256
/** In the directory of a stack; locked while it runs. */
export const lockName = 'dev.lock'

export function kmdDataDir({ directory }: StackPointer): string {
  return join(directory, kmdDirectoryName)
}

/**
 * Records that the stack runs in this process.
 *
 * @returns the path of the file, to be removed when the stack stops
 */
export function write(stack: Omit<StackPointer, 'pid' | 'startTime' | 'startedMs'>): string {
  const pointers = pointerDirectory()
  mkdirSync(pointers, { recursive: true, mode: 0o700 })
  removeStale(pointers)
  const path = join(pointers, `${process.pid}.json`)
  const startTime = ProcessGroup.memberOf(process.pid)?.startTime ?? ''
  const pointer: StackPointer = { pid: process.pid, startTime, startedMs: Date.now(), ...stack }
  AtomicFile.replaceSync(path, `${JSON.stringify(pointer)}\n`)
  return path
}

/** Removes files of stacks that were killed, possibly with the machine. A stack removes its own. */
function removeStale(pointers: string): void {
  for (const path of filesIn(pointers)) {
    const pointer = read(path)
    if (pointer !== undefined && !isRunning(pointer)) rmSync(path, { force: true })
  }
}

/**
 * Whether a stack runs with its keys in this directory, including one that runs for a single command and is not listed.
 */
export function isRunningIn(dataDir: string): boolean {
  const lock = join(dirname(dataDir), lockName)
  // Checking the lock would create the file.
  return basename(dataDir) === kmdDirectoryName && existsSync(lock) && isLocked(lock)
}

export type Found = {
  /** The running stacks, newest first. */
  readonly running: readonly StackPointer[]
  /** The newest stack that ended without removing its file. */
  readonly ended?: StackPointer | undefined
}

export function find(): Found {
  const pointers = pointerDirectory()
  if (!isPrivate(pointers)) return { running: [] }
  const all = filesIn(pointers)
    .map(read)
    .filter((pointer) => pointer !== undefined)
    .sort((a, b) => b.startedMs - a.startedMs)
  const running = all.filter(isRunning)
  return { running, ended: all.find((pointer) => !running.includes(pointer)) }
}

function filesIn(pointers: string): string[] {
  try {
    const names = readdirSync(pointers).filter((name) => /^[0-9]+\.json$/.test(name))
    return names.slice(0, maxFiles).map((name) => join(pointers, name))
  } catch {
    return []
  }
}

const own = process.getuid?.()

/** Another user who can write to the directory could move files of this user into it. */
function isPrivate(directory: string): boolean {
  try {
    const { uid, mode } = lstatSync(directory)
    return own === undefined || (uid === own && (mode & 0o022) === 0)
  } catch {
    return false
  }
}

/** Returns undefined if the file does not belong to this user alone, or is not a pointer. */
function read(path: string): StackPointer | undefined {
  let descriptor: number | undefined
  try {
    // Follows no link, and does not wait for the writer of a pipe.
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const { uid, mode, size } = fstatSync(descriptor)
    const isOwn = own === undefined || (uid === own && (mode & 0o077) === 0)
    if (!isOwn || (mode & constants.S_IFMT) !== constants.S_IFREG || size > maxBytes) return undefined
    const bytes = Buffer.alloc(maxBytes)
    return parse(bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, maxBytes, 0)))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** @throws on anything but a pointer */
function parse(text: string): StackPointer | undefined {
  const value = JSON.parse(text) as { readonly [name: string]: unknown }
  const { pid, startTime, startedMs, directory, buyer } = value
  const urls = ['devnetUrl', 'indexerUrl', 'kmdUrl', 'facilitatorUrl', 'sellerUrl'].map((name) => value[name])
  const isValid =
    Number.isSafeInteger(pid) &&
    (pid as number) > 1 &&
    Number.isFinite(startedMs) &&
    typeof startTime === 'string' &&
    typeof directory === 'string' &&
    isAbsolute(directory) &&
    typeof buyer === 'string' &&
    /^[A-Z2-7]{58}$/.test(buyer) &&
    urls.every((url) => typeof url === 'string' && /^http:\/\/127\.0\.0\.1:[0-9]{1,5}$/.test(url))
  return isValid ? (value as unknown as StackPointer) : undefined
}

/** Whether the process that wrote the file is running, and is the daemon of its directory. */
function isRunning(pointer: StackPointer): boolean {
  try {
    return isSameProcess(pointer) && readFileSync(join(kmdDataDir(pointer), 'kmd.pid'), 'latin1') === `${pointer.pid}`
  } catch {
    return false
  }
}

function isSameProcess({ pid, startTime, directory }: StackPointer): boolean {
  if (startTime === '') return isLocked(join(directory, lockName))
  return ProcessGroup.isAlive({ pid, startTime }) && (own === undefined || statSync(`/proc/${pid}`).uid === own)
}

/** For systems that do not report when a process started. The kernel releases the lock however the stack ends. */
function isLocked(path: string): boolean {
  try {
    Lock.release(Lock.take(path))
    return false
  } catch (error) {
    return error instanceof Lock.LockError && error.code === 'locked'
  }
}

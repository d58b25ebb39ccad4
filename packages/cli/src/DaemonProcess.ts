/**
 * The process of the daemon in a data directory. A process id alone proves nothing: a killed daemon leaves kmd.pid
 * behind, and the system reuses its number for another program. So a process counts only if it has the lock file of the
 * directory open.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import * as ProcessGroup from './dev/ProcessGroup.js'

export type DaemonProcess =
  | { readonly state: 'running'; readonly pid: number }
  /** No daemon is running, and no files are left behind. */
  | { readonly state: 'stopped' }
  /** kmd.pid was left behind. If `isAlive`, its number now belongs to another program. */
  | { readonly state: 'killed'; readonly pid: number; readonly isAlive: boolean }

/** Finds the daemon that runs in a data directory, either ours or the Go daemon. */
export function find(dataDir: string): DaemonProcess {
  const pid = readPid(join(dataDir, 'kmd.pid'))
  if (pid === undefined) return { state: 'stopped' }
  if (hasOpen(pid, join(dataDir, 'kmd.lock'))) return { state: 'running', pid }
  return { state: 'killed', pid, isAlive: isAlive(pid) }
}

const pollMs = 50
/** How long the system may take to end a killed process. */
const killMs = 10_000

export type StopOptions = {
  readonly timeoutMs: number
  /** Called before the process is killed because it did not stop in time. */
  readonly onKill: () => void
}

/**
 * Stops the daemon with SIGTERM, and with SIGKILL if that takes too long, like launchers of the Go daemon. Each signal
 * is sent only while the process that was found still runs. Resolves once it has ended.
 */
export async function stop(dataDir: string, pid: number, { timeoutMs, onKill }: StopOptions): Promise<void> {
  const isRunning = trackerOf(pid, join(dataDir, 'kmd.lock'))
  send(pid, 'SIGTERM', isRunning)
  if (await waitUntil(() => !isRunning(), timeoutMs)) return
  onKill()
  send(pid, 'SIGKILL', isRunning)
  await waitUntil(() => !isRunning(), killMs)
}

/**
 * Identifies the process by its start time, because the number may be reused: the daemon releases the lock before it
 * ends.
 */
function trackerOf(pid: number, lock: string): () => boolean {
  const member = ProcessGroup.memberOf(pid)
  const isDaemon = (): boolean => hasOpen(pid, lock)
  // The lock is checked after the start time was read, which proves that the process is the daemon.
  if (member === undefined || !isDaemon()) return isDaemon
  return () => ProcessGroup.isAlive(member)
}

function send(pid: number, signal: NodeJS.Signals, isRunning: () => boolean): void {
  try {
    if (isRunning()) process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns whether it happened in time. */
export async function waitUntil(happened: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + timeoutMs
  for (;;) {
    if (await happened()) return true
    if (performance.now() >= giveUpAt) return false
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

function readPid(path: string): number | undefined {
  try {
    const [line = ''] = readFileSync(path, 'latin1').slice(0, 32).split('\n', 1)
    return /^[1-9][0-9]{0,9}$/.test(line) ? Number(line) : undefined
  } catch {
    return undefined
  }
}

/** A process that has ended but is not yet reaped is not alive. */
function isAlive(pid: number): boolean {
  const member = ProcessGroup.memberOf(pid)
  if (member !== undefined || process.platform === 'linux') return member !== undefined && ProcessGroup.isAlive(member)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether a process has a file open. Returns false for a process of another user, for which this is unknown. */
function hasOpen(pid: number, path: string): boolean {
  const file = statOf(path)
  if (file === undefined) return false
  if (process.platform === 'linux') return openFiles(pid).some((one) => one.ino === file.ino && one.dev === file.dev)
  const { stdout } = spawnSync('lsof', ['-t', '--', path], { encoding: 'latin1', stdio: ['ignore', 'pipe', 'ignore'] })
  return (stdout ?? '').split('\n').includes(String(pid))
}

function openFiles(pid: number): Stats[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => statOf(`/proc/${pid}/fd/${name}`) ?? [])
  } catch {
    return []
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

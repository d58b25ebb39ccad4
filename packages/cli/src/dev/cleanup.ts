/**
 * The script of the cleanup process: ends programs and removes directories that a killed `latchkey dev` leaves behind.
 * It reads a pipe, which closes however `latchkey dev` ends. After a normal end nothing is left to do.
 */
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import * as ProcessGroup from './ProcessGroup.js'

/** One line of JSON each. */
export type CleanupNote =
  | { directory: string }
  /** A program was started. Its descendants are looked up when needed. */
  | { started: number }
  | { exited: number }
  /** A signal was sent. Processes that still run at the end are killed, even if the program itself has exited. */
  | { stopping: readonly ProcessGroup.Member[] }

const timeoutMs = 2_000
const pollMs = 50

const directories: string[] = []
const programs = new Set<number>()
const stopping: ProcessGroup.Member[] = []

void main()

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) record(JSON.parse(line) as CleanupNote)
  await endAll([...stopping, ...[...programs].flatMap(ProcessGroup.members)])
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
}

function record(note: CleanupNote): void {
  if ('directory' in note) directories.push(note.directory)
  else if ('started' in note) programs.add(note.started)
  else if ('exited' in note) programs.delete(note.exited)
  else stopping.push(...note.stopping)
}

async function endAll(members: readonly ProcessGroup.Member[]): Promise<void> {
  send('SIGTERM', members)
  for (let waitedMs = 0; waitedMs < timeoutMs && members.some(ProcessGroup.isAlive); waitedMs += pollMs) {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  send('SIGKILL', members)
}

function send(signal: NodeJS.Signals, members: readonly ProcessGroup.Member[]): void {
  for (const member of members) {
    try {
      if (ProcessGroup.isAlive(member)) process.kill(member.pid, signal)
    } catch {
      // The process has exited in the meantime.
    }
  }
}

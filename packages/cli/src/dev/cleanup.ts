/**
 * A process of its own that tidies up after `latchkey dev`, should that be killed: what it holds is a pipe from there,
 * whose end it sees however the other side ends. In good order it finds nothing left to do.
 */
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import * as ProcessGroup from './ProcessGroup.js'

/** What it is told, a line of JSON each. */
export type Note =
  | { directory: string }
  /** A command runs inside; its family is found when it is needed. */
  | { started: number }
  | { ended: number }
  /** Whoever of these is still there at the end is ended, even if the command itself has gone by then. */
  | { leaving: readonly ProcessGroup.Member[] }

const patienceMs = 2_000
const pauseMs = 50

const directories: string[] = []
const commands = new Set<number>()
const leaving: ProcessGroup.Member[] = []

for await (const line of createInterface({ input: process.stdin })) take(JSON.parse(line) as Note)
await endAll([...leaving, ...[...commands].flatMap(ProcessGroup.of)])
for (const directory of directories) rmSync(directory, { recursive: true, force: true })

function take(note: Note): void {
  if ('directory' in note) directories.push(note.directory)
  else if ('started' in note) commands.add(note.started)
  else if ('ended' in note) commands.delete(note.ended)
  else leaving.push(...note.leaving)
}

async function endAll(members: readonly ProcessGroup.Member[]): Promise<void> {
  send('SIGTERM', members)
  for (let waitedMs = 0; waitedMs < patienceMs && members.some(ProcessGroup.isAlive); waitedMs += pauseMs) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  send('SIGKILL', members)
}

function send(signal: NodeJS.Signals, members: readonly ProcessGroup.Member[]): void {
  for (const member of members) {
    try {
      if (ProcessGroup.isAlive(member)) process.kill(member.pid, signal)
    } catch {
      // It has ended in the meantime.
    }
  }
}

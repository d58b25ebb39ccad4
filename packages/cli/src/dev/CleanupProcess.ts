/** What `latchkey dev` would leave behind if it were killed, known to a caretaker that would then see to it. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Note } from './cleanup.js'

export type CleanupProcess = {
  readonly note: (note: Note) => void
  /** Nothing is left: the caretaker may go. */
  readonly close: () => void
}

export function startCleanupProcess(): CleanupProcess {
  const script = fileURLToPath(new URL('./caretaker.js', import.meta.url))
  // In a session of its own, so that neither Ctrl-C nor a signal to the whole group reaches it.
  const caretaker = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  caretaker.on('error', () => {})
  caretaker.stdin.on('error', () => {})
  caretaker.unref()
  const pipe = caretaker.stdin as typeof caretaker.stdin & { unref?: () => void }
  pipe.unref?.()
  return {
    note: (note) => void pipe.write(`${JSON.stringify(note)}\n`),
    close: () => void pipe.end(),
  }
}

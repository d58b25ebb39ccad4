/** Starts the process that cleans up if `latchkey dev` is killed. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { CleanupNote } from './cleanup.js'

export type CleanupProcess = {
  readonly note: (note: CleanupNote) => void
  /** Everything has been cleaned up, and the process can end. */
  readonly close: () => void
}

export function startCleanupProcess(): CleanupProcess {
  const script = fileURLToPath(new URL('./cleanup.js', import.meta.url))
  // Detached in a separate session, so that neither Ctrl-C nor a signal to the process group reaches it.
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  const pipe = child.stdin as typeof child.stdin & { unref?: () => void }
  pipe.unref?.()
  return {
    note: (note) => void pipe.write(`${JSON.stringify(note)}\n`),
    close: () => void pipe.end(),
  }
}

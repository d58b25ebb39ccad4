// Runs Node in a child process on behalf of a script.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { root } from './packages.mjs'

/**
 * Runs Node with these arguments in a session without a terminal, so no command under test can prompt on the terminal
 * of the person running the tests. A signal that stops this process also stops the child and its descendants.
 * @returns the exit code
 */
export async function runNode(args, environment = {}) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
    detached: true,
  })
  const stop = (signal) => signalGroup(child.pid, signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, stop)
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(1))
    child.once('exit', (status, signal) => resolve(status ?? 128 + constants.signals[signal]))
  })
  for (const signal of signals) process.off(signal, stop)
  return code
}

/** Sends a signal to a process that was started detached, and to its descendants. */
export function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {
    // The process has already exited.
  }
}

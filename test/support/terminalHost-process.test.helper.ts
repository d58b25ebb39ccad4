/**
 * Runs `latchkey` commands one after the other in the terminal in which it was started; see `TerminalHosts`. Reads a line
 * of JSON per command from a socket, and prints a given line after its output.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { latchkeyCommand } from './latchkeyCommand.test.helper.js'

export type HostedCall = { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv; readonly end: string }

const runScript = latchkeyCommand.replace(/latchkey\.js$/, 'run.js')
const { run } = createRequire(import.meta.url)(runScript) as { run: (command: string) => Promise<void> }

/** Real variables of the process, not a copy: the home directory is read from them. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

/** Removes the listeners that a command added. */
function clean(): void {
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'warning', 'uncaughtException']) process.removeAllListeners(event)
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
}

/** Input that a command did not read is not for the next one. */
function discardTyped(): void {
  const terminal = openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    while (readSync(terminal, Buffer.alloc(1024)) > 0);
  } catch {
    // Nothing is left to read.
  } finally {
    closeSync(terminal)
  }
}

for await (const line of createInterface({ input: connect(process.argv[2]!) })) {
  const { args, env, end } = JSON.parse(line) as HostedCall
  setEnvironment(env)
  process.argv = [process.execPath, latchkeyCommand, ...args]
  process.exitCode = undefined
  await run('latchkey')
  clean()
  discardTyped()
  // Writes to a terminal are synchronous.
  process.stdout.write(`${end}\n`)
}
process.exit(0)

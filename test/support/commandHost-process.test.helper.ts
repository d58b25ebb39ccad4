/**
 * Runs commands one after the other, in one process that has loaded their code; see `hostedLatchkey` and `startHosted`.
 * Reads a line of JSON per command from descriptor 3, and writes its outcome as a line of JSON to descriptor 4. The
 * output of a server is written there as it is printed.
 */
import { createReadStream, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { latchkeyCommand } from './latchkeyCommand.test.helper.js'

type Call = { command: 'latchkey' | 'kmd'; args: string[]; env: { [name: string]: string }; isServer: boolean }

const runScript = latchkeyCommand.replace(/latchkey\.js$/, 'run.js')
const { run } = createRequire(import.meta.url)(runScript) as { run: (command: string) => Promise<void> }

const endOfCommand = Buffer.of(0)
const exit = process.exit
const written = { stdout: '', stderr: '' }
let isServer = false

/** Collects output. A command may wait until its output is written. */
function collect(name: 'stdout' | 'stderr'): void {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    if (isServer) send({ name, text })
    else written[name] += text
    const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined
    if (done !== undefined) setImmediate(done)
    return true
  }
}

/** A byte on stderr separates what commands write there directly, such as log lines. */
function sendOutcome(outcome: object): void {
  send({ ...outcome, ...written })
  for (;;) {
    try {
      writeSync(2, endOfCommand)
      return
    } catch (error) {
      // The reader is slow.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

/** Written synchronously, because the process may be about to exit. */
function send(message: object): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`)
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(4, bytes, sent)
}

/** Real variables of the process, not a copy: the home directory is read from them. */
function setEnvironment(env: { [name: string]: string }): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

const events = ['SIGINT', 'SIGTERM', 'SIGHUP', 'warning', 'uncaughtException'] as const
const streams = [process.stdout, process.stderr]

/** Removes the listeners that a command added. A signal that arrives after the end of a server is ignored. */
function clean(): void {
  for (const event of events) process.removeAllListeners(event)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  for (const stream of streams) stream.removeAllListeners('error')
}

collect('stdout')
collect('stderr')
process.exit = ((code?: number | string | null): never => {
  sendOutcome({ code: code ?? process.exitCode ?? 0, isExit: true })
  return exit(code)
}) as typeof process.exit

const lines = createInterface({ input: createReadStream('', { fd: 3 }) })
// The tests are gone, even if they were killed: a server must not outlive them.
lines.once('close', () => exit(0))
for await (const line of lines) {
  const call = JSON.parse(line) as Call
  isServer = call.isServer
  setEnvironment(call.env)
  process.argv = [process.execPath, join(dirname(latchkeyCommand), `${call.command}.js`), ...call.args]
  process.exitCode = undefined
  await run(call.command)
  clean()
  sendOutcome({ code: process.exitCode })
  written.stdout = ''
  written.stderr = ''
}

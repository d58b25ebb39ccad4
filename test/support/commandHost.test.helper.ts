/**
 * Runs `latchkey` commands one after the other, in one process that has loaded their code; see `hostedLatchkey`. Reads a
 * line of JSON per command from descriptor 3, and writes its outcome as a line of JSON to descriptor 4.
 */
import { createReadStream, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { latchkeyCommand } from './devnet.test.helper.js'

type Call = { args: string[]; env: { [name: string]: string } }

const runScript = latchkeyCommand.replace(/latchkey\.js$/, 'run.js')
const { run } = createRequire(import.meta.url)(runScript) as { run: (command: string) => Promise<void> }

const exit = process.exit
const written = { stdout: '', stderr: '' }

/** Collects output. A command may wait until its output is written. */
function collect(name: 'stdout' | 'stderr'): void {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined
    if (done !== undefined) setImmediate(done)
    return true
  }
}

/** Written synchronously, because the process may be about to exit. */
function respond(code: unknown): void {
  const bytes = Buffer.from(`${JSON.stringify({ code, ...written })}\n`)
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(4, bytes, sent)
}

/** Real variables of the process, not a copy: the home directory is read from them. */
function setEnvironment(env: { [name: string]: string }): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

const events = ['SIGINT', 'SIGTERM', 'SIGHUP', 'warning', 'uncaughtException'] as const
const streams = [process.stdout, process.stderr]

/** Removes the listeners that a command added. */
function clean(): void {
  for (const event of events) process.removeAllListeners(event)
  for (const stream of streams) stream.removeAllListeners('error')
}

collect('stdout')
collect('stderr')
process.exit = ((code?: number | string | null): never => {
  respond(code ?? process.exitCode ?? 0)
  return exit(code)
}) as typeof process.exit

for await (const line of createInterface({ input: createReadStream('', { fd: 3 }) })) {
  const { args, env } = JSON.parse(line) as Call
  setEnvironment(env)
  process.argv = [process.execPath, latchkeyCommand, ...args]
  process.exitCode = undefined
  await run('latchkey')
  respond(process.exitCode)
  written.stdout = ''
  written.stderr = ''
  clean()
}
exit(0)

/**
 * Runs bundled code in workerd, the runtime of Cloudflare Workers.
 *
 *     test('...', { skip: edgeSkipReason }, async (t) => {
 *       const worker = await startWorker(t, { source: `export const add = (a, b) => a + b` })
 *       assert.equal(await worker.call('add', 1, 2), 3)
 *     })
 *
 * `source` imports packages by name, as the source of `bundle` does. Its exported functions are called with `call`;
 * arguments and results travel as JSON. If it has a default export, a fetch handler or an object with `fetch` (a Hono
 * app, for example), requests to `worker.url` reach it. The worker may connect to this machine, and has no modules of Node.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

export type WorkerOptions = { source: string }

export type EdgeWorker = {
  /** The URL of the default export. */
  url: string
  /** Calls an exported function in the worker. */
  call: (name: string, ...args: unknown[]) => Promise<unknown>
}

const workerd = fileURLToPath(
  new URL('../../../node_modules/@cloudflare/workerd-linux-64/bin/workerd', import.meta.url),
)

/** Why tests in workerd are skipped; false if it is installed. */
export const edgeSkipReason: string | false = existsSync(workerd) ? false : 'workerd is not installed on this platform'

const callPath = '/latchkey-test-call'

const main = `
import * as bundle from './bundle.js'
export default {
  async fetch(request, env, context) {
    if (new URL(request.url).pathname !== '${callPath}') {
      const handler = bundle.default
      return typeof handler === 'function' ? handler(request, env, context) : handler.fetch(request, env, context)
    }
    const { name, args } = await request.json()
    try {
      return Response.json({ result: await bundle[name](...args) })
    } catch (error) {
      return Response.json({ error: String(error?.stack ?? error) })
    }
  },
}
`

const config = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .mainWorker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const mainWorker :Workerd.Worker = (
  modules = [
    (name = "main.js", esModule = embed "main.js"),
    (name = "bundle.js", esModule = embed "bundle.js"),
  ],
  compatibilityDate = "2026-07-01",
);
`

/** Bundles the source as tools for Workers do, and starts it. The worker stops with the test. */
export async function startWorker(t: Scope, { source }: WorkerOptions): Promise<EdgeWorker> {
  const { path, nodeImports } = await bundle(t, { source, conditions: ['workerd', 'worker', 'browser'] })
  if (nodeImports.length > 0) throw new Error(`the bundle imports modules of Node: ${nodeImports.join(', ')}`)
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-edge-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  copyFileSync(path, join(directory, 'bundle.js'))
  writeFileSync(join(directory, 'main.js'), main)
  writeFileSync(join(directory, 'config.capnp'), config)
  const url = `http://127.0.0.1:${await serve(t, join(directory, 'config.capnp'))}`
  const call = async (name: string, ...args: unknown[]): Promise<unknown> => {
    const response = await fetch(url + callPath, { method: 'POST', body: JSON.stringify({ name, args }) })
    const { result, error } = (await response.json()) as { result?: unknown; error?: string }
    if (error !== undefined) throw new Error(`in the worker: ${error}`)
    return result
  }
  return { url, call }
}

/** Returns the port, which workerd reports on a separate descriptor. */
async function serve(t: Scope, configPath: string): Promise<number> {
  const child = spawn(workerd, ['serve', configPath, '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
  })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill()
    await exited
  })
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const control = child.stdio[3] as Readable
  let events = ''
  for await (const text of control.setEncoding('utf8')) {
    events += text
    const port = /"port":\s*([0-9]+)/.exec(events)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error(`workerd did not start: ${errors}`)
}

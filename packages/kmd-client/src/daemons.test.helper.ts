/**
 * Daemons for the client's tests: Latchkey's on both wires and over both transports, and the Go daemon if
 * LATCHKEY_REFERENCE_KMD is set to its path.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Wire } from '@latchkey/kmd'
import { Daemon } from '@latchkey/kmd'
import type { Fetch } from './index.js'

export type Running = { stop: () => Promise<void> }
export type Target = {
  name: string
  isOurs: boolean
  /** Options for `Kmd.connect`. */
  client: ClientOptions
  start: (dataDir: string) => Promise<Running>
}
export type ClientOptions = { fetch?: Fetch }

const goDaemon = process.env['LATCHKEY_REFERENCE_KMD'] ?? ''

export const transports: readonly { name: string; client: ClientOptions }[] = [
  { name: 'sockets', client: {} },
  { name: 'fetch', client: { fetch: (url, init) => fetch(url, init) } },
]

const wires = ['reference', 'documented'] as const

/** Both wires and both transports, one pair each: a transport carries bytes, regardless of the wire that wrote them. */
export const targets: readonly Target[] = [
  ...transports.map(({ name, client }, index) => {
    const wire = wires[index]!
    return {
      name: `Latchkey, ${wire} wire, over ${name}`,
      isOurs: true,
      client,
      start: (dataDir: string) => startOurs(dataDir, wire),
    }
  }),
  ...(goDaemon === '' ? [] : [{ name: 'the Go daemon', isOurs: false, client: {}, start: startGo }]),
]

export function startOurs(dataDir: string, wire: Wire = 'reference'): Promise<Running> {
  return Daemon.start({ dataDir, wire, limits: { stopMs: 100 } })
}

async function startGo(dataDir: string): Promise<Running> {
  const child = spawn(goDaemon, ['-d', dataDir, '-t', '0'], { stdio: 'ignore' })
  for (let tries = 0; !existsSync(join(dataDir, 'kmd.net')); tries++) {
    if (child.exitCode !== null || tries > 200) throw new Error('the Go daemon did not start')
    await sleep(25)
  }
  return {
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

export type DataDirOptions = { sessionLifetimeSecs?: number; address?: string }

/** A data directory with a free port and a cheap password derivation. */
export function makeDataDir({ sessionLifetimeSecs, address = '127.0.0.1:0' }: DataDirOptions = {}): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  const config = {
    address,
    session_lifetime_secs: sessionLifetimeSecs ?? null,
    drivers: { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true }, ledger: { disable: true } },
  }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(config))
  return dataDir
}

export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true })
}

export function readState(dataDir: string): { address: string; token: string } {
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8')
  return { address: read('kmd.net'), token: read('kmd.token') }
}

export type Server = { address: string; close: () => Promise<void> }

/** A server that takes the place of a daemon. */
export async function serve(handle: (incoming: IncomingMessage, outgoing: ServerResponse) => void): Promise<Server> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A proxy in front of a daemon that records the requests, as `POST /v1/key`, and their bodies. */
export async function recordingProxy(address: string): Promise<Server & { seen: string[]; bodies: string[] }> {
  const seen: string[] = []
  const bodies: string[] = []
  const [host, port] = address.split(':')
  const server = await serve((incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url}`)
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      bodies.push(body.toString('latin1'))
      const { method, url: path, headers } = incoming
      const onward = request({ host, port, method, path, headers: { ...headers, host: address } }, (response) => {
        outgoing.writeHead(response.statusCode ?? 0, response.headers)
        response.pipe(outgoing)
      })
      onward.on('error', () => outgoing.destroy())
      onward.end(body)
    })
  })
  return { ...server, seen, bodies }
}

/** Sends ambiguous requests through a gateway, and compares what the gateway and the service behind it have read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { TestContext } from 'node:test'
import { Network } from '@latchkey/algorand'
import { openGateway, Upstream } from '@latchkey/x402/gateway'
import { Gate } from '@latchkey/x402/server'
import { atEnd } from '../process/commands.test.helper.js'
import { ours } from '../x402/interop.test.helper.js'
import { openTrade, price } from '../x402/trade.test.helper.js'
import { attempt, randomFrom } from './smugglingAttempts.test.helper.js'

const { seed } = (await import(new URL('../../seed.mjs', import.meta.url).href)) as typeof import('../seed.mjs')

/** A request as one of the programs has read it. */
export type Reading = {
  id: string
  method: string
  target: string
  body: string
  isComplete: boolean
  /** Whether the client got the whole response of the service, as the gateway knows it. */
  isAnswered?: boolean
}

const attempts = Number(process.env['LATCHKEY_SMUGGLING'] ?? 400)
const atOnce = 16
/** A connection that waits for more bytes is closed after so many rounds without any. A busy machine prolongs a round. */
const idleRounds = 5
const roundMs = 40
const idHeader = 'X-Test-Id'

/** Records the requests that the gateway forwards. Each gets an id, which an attacker does not know. */
class RecordingUpstream extends Upstream {
  readonly forwarded: Reading[] = []
  readonly #read = new WeakMap<object, Reading>()

  /** Records the body from its first byte on. */
  watch(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request
    const target = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/'
    const reading: Reading = { id: '', method, target, body: '', isComplete: false }
    response.once('finish', () => {
      reading.isAnswered = response.statusCode === 200
    })
    this.#read.set(request, reading)
    const push = request.push.bind(request)
    request.push = (chunk: unknown, ...rest: never[]) => {
      if (chunk === null) reading.isComplete = request.complete
      else reading.body += (chunk as Buffer).toString('latin1')
      return push(chunk, ...rest)
    }
  }

  #note(request: IncomingMessage): void {
    const reading = this.#read.get(request) ?? { method: 'UPGRADE', target: request.url!, body: '', isComplete: true }
    const id = `id-${this.forwarded.length}-${Math.random()}`
    request.rawHeaders.push(idHeader, id)
    request.headers[idHeader.toLowerCase()] = id
    this.forwarded.push(Object.assign(reading, { id }))
  }

  override forward(...[request, response]: Parameters<Upstream['forward']>): Promise<void> {
    this.#note(request as IncomingMessage)
    return super.forward(request, response)
  }

  override upgrade(...[request, socket, head]: Parameters<Upstream['upgrade']>): Promise<void> {
    this.#note(request)
    return super.upgrade(request, socket, head)
  }
}

/** A service that records its requests, and says in its responses what it has read. */
export async function recordingService(t: TestContext) {
  const seen: Reading[] = []
  const problems: string[] = []
  const record = (request: IncomingMessage, method = request.method!): Reading => {
    const { url: target = '', rawHeaders } = request
    const names = rawHeaders
      .filter((_, index) => index % 2 === 0)
      .map((name) => name.toLowerCase().replaceAll('_', '-'))
    for (const name of ['host', 'content-length', 'transfer-encoding', 'x-test-id', 'x-forwarded-for', 'cookie']) {
      if (names.filter((one) => one === name).length > 1) problems.push(`${name} twice: ${JSON.stringify(rawHeaders)}`)
    }
    for (const name of names) {
      if (
        /^(script-name|path-info|x-original-url|x-rewrite-url|x-forwarded-prefix|x-payment-payer|payment-signature|expect)$/.test(
          name,
        )
      ) {
        problems.push(`${name} was forwarded`)
      }
    }
    const id = String(request.headers[idHeader.toLowerCase()])
    const reading = { id, method, target, body: '', isComplete: false }
    seen.push(reading)
    return reading
  }
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const reading = record(request)
    request.setEncoding('latin1').on('data', (text: string) => {
      reading.body += text
    })
    request.on('error', () => {})
    request.on('end', () => {
      reading.isComplete = request.complete
      response.setHeader('Content-Type', 'text/plain').end(`${reading.id} ${reading.target}\n`)
    })
  })
  server.on('upgrade', (request, socket) => {
    record(request, 'UPGRADE').isComplete = true
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A request that the gateway breaks off is no other request.
    const isCut = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
    if (!isCut) problems.push(`the service could not read a request: ${error.code}`)
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, problems }
}

/** Puts a gateway in front of the service, and sends the attempts. Returns what was forwarded. */
export async function smuggle(t: TestContext, service: string): Promise<readonly Reading[]> {
  const trade = await openTrade(t, { genesisHash: Network.testnet.genesisHash })
  const accepts = { network: trade.chain.caip2, price, payTo: String(trade.seller.addr) }
  const facilitators = await ours.facilitators['ours']!(t, trade)
  const gate = await Gate.open({ routes: { '/paid/*': { accepts } }, facilitators, chains: trade.chain })
  atEnd(t, () => gate.close())
  // With few connections, the rest of one request would be read before the next.
  const upstream = new RecordingUpstream({ url: service, maxConnections: 4, passHeaders: [idHeader] })
  atEnd(t, () => upstream.close())
  const gateway = openGateway({ gate, upstream, free: ['/free/*'], onError: () => {} })
  const server = createServer((request, response) => {
    upstream.watch(request, response)
    void gateway.request(request, response)
  })
  server.on('upgrade', (request, socket, head) => void gateway.upgrade(request, socket, head))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  atEnd(t, () => {
    server.close()
    server.closeAllConnections()
  })
  let next = 0
  const statuses: { [status: string]: number } = {}
  const work = async (): Promise<void> => {
    for (let index = next++; index < attempts; index = next++) {
      const token = `token-${index}-end`
      const random = randomFrom(seed + index)
      const bytes = attempt(random, token)
      const text = await exchange(port, bytes, random(bytes.length))
      const context = (): string => `attempt ${index} of seed ${seed}: ${JSON.stringify(bytes.slice(0, 2_000))}`
      for (const [found] of text.matchAll(/token-\d+-end/g)) {
        assert.equal(found, token, `a response for another client, to ${context()}`)
      }
      const status = text.slice(9, 12) || 'none'
      statuses[status] = (statuses[status] ?? 0) + 1
      if (index % 10 !== 0) continue
      const canary = await (await fetch(`http://127.0.0.1:${port}/free/canary-${index}`)).text()
      assert.match(canary, new RegExp(`^id-\\S+ /free/canary-${index}\n$`), `after ${context()}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  t.diagnostic(`${attempts} attempts, ${upstream.forwarded.length} requests forwarded, ${JSON.stringify(statuses)}`)
  return upstream.forwarded
}

/** Sends the bytes in two parts, and returns what comes back. */
async function exchange(port: number, bytes: string, cutAt: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  let rounds = 0
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      text += chunk.toString('latin1')
      rounds = 0
    })
  const timer = setInterval(() => {
    if (++rounds >= idleRounds) socket.destroy()
  }, roundMs)
  const data = Buffer.from(bytes, 'latin1')
  socket.write(data.subarray(0, cutAt))
  setImmediate(() => socket.write(data.subarray(cutAt)))
  await once(socket, 'close')
  clearInterval(timer)
  return text
}

/** Asserts that the service has read the requests that the gateway has forwarded: as many, and the same. */
export async function assertSameReadings(
  forwarded: readonly Reading[],
  { seen, problems }: Awaited<ReturnType<typeof recordingService>>,
): Promise<void> {
  const known = new Map(forwarded.map((one) => [one.id, one]))
  const read = new Map(seen.map((one) => [one.id, one]))
  assert.deepEqual(problems, [])
  assert.equal(read.size, seen.length, 'a request was read twice')
  for (const one of seen) {
    const sent = known.get(one.id)
    assert.ok(sent, `a request that was not forwarded: ${JSON.stringify(one)}`)
    assert.deepEqual([one.method, one.target], [sent.method, sent.target])
    if (one.isComplete) {
      assert.ok(sent.isComplete, `the gateway has not read all of ${JSON.stringify(one)}`)
      assert.equal(one.body, sent.body)
    } else assert.ok(sent.body.startsWith(one.body))
    assert.doesNotMatch(decodedPath(one.target), /paid|admin/, `not paid: ${one.target}`)
  }
  // The request of a client that leaves may be broken off.
  for (const one of forwarded.filter(({ isAnswered }) => isAnswered)) {
    assert.ok(one.isComplete && read.has(one.id), `another request was answered: ${JSON.stringify(one)}`)
  }
}

export function decodedPath(target: string): string {
  const path = target.replace(/\?.*$/s, '')
  return path
    .replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .toLowerCase()
}

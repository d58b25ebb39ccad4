/** Injects faults: a proxy in front of the node, and one between buyers and a seller. */
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Submission } from '@latchkey/algorand'
import type { Counter, Random } from './soakRandom.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

export type FaultOptions = { random: Random; faults: Counter; isOver: () => boolean }

/** When a fault of a proxy is possible: never once the soak is over. */
type Faults = FaultOptions & { isStorm: () => boolean }

const calmRate = 0.03
const stormRate = 0.3
const submissionRate = 0.12
const submissionPath = '/v2/transactions'
const lookupPath = '/v2/transactions/pending/'

/** Adds a short time every few seconds in which much fails. */
function withStorms(options: FaultOptions): Faults {
  let changesAt = 0
  let isStorm = true
  return {
    ...options,
    isStorm: () => {
      if (performance.now() > changesAt) {
        isStorm = !isStorm
        const [low, high] = isStorm ? [500, 3_000] : [4_000, 15_000]
        changesAt = performance.now() + options.random.between(low!, high!)
      }
      return isStorm
    },
  }
}

/**
 * Opens a proxy in front of a node that loses, delays and refuses; that accepts submissions and loses the response, or
 * accepts and forgets them; and that denies knowing a transaction.
 *
 * @returns its URL
 */
export async function openFaultyNode(t: Scope, nodePort: number, options: FaultOptions): Promise<string> {
  const faults = withStorms(options)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const server = createServer((incoming, outgoing) => {
    relay(incoming, outgoing, { faults, agent, nodePort }).catch(() => outgoing.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    agent.destroy()
    server.close().closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Relay = { faults: Faults; agent: Agent; nodePort: number }
type NodeFault = 'reset' | 'error' | 'delay' | 'hang' | 'lost' | 'forgotten' | 'unknown'

async function relay(incoming: IncomingMessage, outgoing: ServerResponse, options: Relay): Promise<void> {
  const body = await buffer(incoming)
  const fault = chooseNodeFault(incoming, options.faults)
  const { random } = options.faults
  if (fault === 'delay') await random.pause(50, 1_500)
  if (fault === 'reset') return reset(incoming.socket)
  if (fault === 'hang') {
    await random.pause(1_000, 4_000)
    return reset(incoming.socket)
  }
  if (fault === 'error') return respond(outgoing, random.pick([500, 502, 503]), { message: 'injected' })
  if (fault === 'unknown') return respond(outgoing, 404, { message: 'could not find the transaction' })
  if (fault === 'forgotten') {
    const [first] = Submission.decodeAll(body, 16)
    return respond(outgoing, 200, { txId: first!.id })
  }
  const { status, headers, bytes } = await forward(incoming, body, options)
  if (fault === 'lost') return reset(incoming.socket)
  outgoing.writeHead(status, { 'Content-Type': headers['content-type'] ?? 'application/json' }).end(bytes)
}

function chooseNodeFault({ method, url = '' }: IncomingMessage, faults: Faults): NodeFault | undefined {
  const { random, faults: counts, isOver } = faults
  const isSubmission = method === 'POST' && url.split('?')[0] === submissionPath
  const rate = faults.isStorm() ? stormRate : isSubmission ? submissionRate : calmRate
  if (isOver() || !random.chance(rate)) return undefined
  const kinds: NodeFault[] = ['reset', 'error', 'delay', 'lost', 'hang']
  if (isSubmission) kinds.push('forgotten', 'forgotten', 'lost', 'lost')
  if (url.startsWith(lookupPath)) kinds.push('unknown')
  const kind = random.pick(kinds)
  counts.add(isSubmission && kind === 'lost' ? 'node accepted, response lost' : `node ${kind}`)
  return kind
}

function respond(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

type Forwarded = { status: number; headers: IncomingMessage['headers']; bytes: Buffer }

async function forward({ method, url, headers }: IncomingMessage, body: Buffer, options: Relay): Promise<Forwarded> {
  const { host: _, connection: __, ...passed } = headers
  const toNode = request({
    agent: options.agent,
    host: '127.0.0.1',
    port: options.nodePort,
    method,
    path: url,
    headers: { ...passed, 'content-length': body.length },
  })
  toNode.end(body)
  const [response] = (await once(toNode, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, bytes: await buffer(response) }
}

type LineFault = 'reset before the request' | 'reset after the request' | 'response cut' | 'response lost'

const lineFaults: readonly LineFault[] = [
  'reset before the request',
  'reset after the request',
  'response cut',
  'response lost',
]
const lineRate = 0.04

/** Opens a connection between a buyer and a seller that breaks at any moment. Returns the port. */
export async function openFaultyLine(t: Scope, sellerPort: number, options: FaultOptions): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createNetServer((buyer) => {
    const seller = connect(sellerPort, '127.0.0.1')
    join(buyer, seller, options)
    for (const socket of [buyer, seller]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** Node leaks the handle of a socket that is reset after its end, and then cannot exit. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else if (!socket.destroyed) socket.resetAndDestroy()
}

function join(buyer: Socket, seller: Socket, { random, faults, isOver }: FaultOptions): void {
  let fault: LineFault | undefined
  const breakBoth = (): void => {
    for (const socket of [buyer, seller]) reset(socket)
  }
  for (const [socket, other] of [
    [buyer, seller],
    [seller, buyer],
  ] as const) {
    // Data written before the end is still sent.
    socket
      .on('error', breakBoth)
      .on('end', () => other.end())
      .on('close', () => other.end())
  }
  buyer.on('data', (chunk) => {
    if (fault === undefined && !isOver() && random.chance(lineRate)) {
      fault = random.pick(lineFaults)
      faults.add(`line ${fault}`)
      if (fault === 'reset before the request') return breakBoth()
      if (fault === 'reset after the request') void sleep(random.between(0, 500)).then(breakBoth)
    }
    seller.write(chunk)
  })
  seller.on('data', (chunk) => {
    if (fault === 'response lost') return breakBoth()
    if (fault === 'response cut') {
      buyer.write(chunk.subarray(0, random.between(1, chunk.length - 1)), breakBoth)
      return
    }
    buyer.write(chunk)
  })
}

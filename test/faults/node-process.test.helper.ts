/**
 * Runs a node: an address of the shared ledger that lags behind, loses, accepts and forgets as the test requests (PUT
 * /fault).
 */
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Submission } from '@latchkey/algorand'
import { port, ready, setting, settings } from './settings.test.helper.js'

/** `none`, or the misbehaviour of the node. */
export type NodeFault = 'none' | 'forgets' | 'loses' | 'fails' | 'hangs' | 'lags'

const agent = new Agent({ keepAlive: true, maxSockets: 128 })
const ledger = new URL(setting('FAULTS_LEDGER'))
const hangMs = 20_000
let fault: NodeFault = 'none'
/** The last round that a lagging node knows. */
let frozenRound = 0

type Forwarded = { status: number; type: string; body: Buffer }

async function forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Forwarded> {
  const { host: _, connection: __, ...passed } = headers
  const target = { agent, host: ledger.hostname, port: ledger.port, method, path: url }
  const outgoing = httpRequest({ ...target, headers: { ...passed, 'content-length': body.length } })
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const type = response.headers['content-type'] ?? 'application/json'
  return { status: response.statusCode!, type, body: await buffer(response) }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '/' } = request
  const body = await buffer(request)
  const isSubmission = method === 'POST' && url.split('?')[0] === '/v2/transactions'
  const current = fault
  if (current === 'hangs') {
    await sleep(hangMs)
    return void request.socket.destroy()
  }
  if (current === 'fails' && Math.random() < 0.7) return respond(response, 503, { message: 'injected' })
  if (current === 'forgets' && isSubmission && Math.random() < 0.7) {
    const [first] = Submission.decodeAll(body, 16)
    return respond(response, 200, { txId: first!.id })
  }
  const forwarded = await forward(request, body)
  if (current === 'loses' && (isSubmission || Math.random() < 0.3)) return void request.socket.destroy()
  const { status, type, body: text } = current === 'lags' ? late(url, forwarded) : forwarded
  response.writeHead(status, { 'Content-Type': type }).end(text)
}

/** Returns the response of a node that has not seen the latest blocks. */
function late(url: string, forwarded: Forwarded): Forwarded {
  const unknown = { status: 404, type: 'application/json', body: Buffer.from('{"message":"not found"}') }
  const block = /^\/v2\/blocks\/(\d+)/.exec(url)
  if (block !== null) return Number(block[1]) > frozenRound ? unknown : forwarded
  const text = forwarded.body.toString()
  if (url.startsWith('/v2/transactions/pending/')) {
    const confirmed = /"confirmed-round":\s*(\d+)/.exec(text)
    return confirmed !== null && Number(confirmed[1]) > frozenRound ? unknown : forwarded
  }
  const body = text.replace(/"(last-round|round)":\s*\d+/g, (_, name) => `"${name}":${frozenRound}`)
  return url.startsWith('/v2/status') || url.startsWith('/v2/transactions/params')
    ? { ...forwarded, body: Buffer.from(body) }
    : forwarded
}

async function setFault(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = (await buffer(request)).toString() as NodeFault
  const status = (await (await fetch(new URL('/v2/status', ledger))).json()) as { 'last-round': number }
  frozenRound = status['last-round']
  fault = text
  response.end()
}

createServer((request, response) => {
  const work = request.method === 'PUT' && request.url === '/fault' ? setFault : relay
  work(request, response).catch(() => request.socket.destroy())
}).listen(port, settings.host(), ready)

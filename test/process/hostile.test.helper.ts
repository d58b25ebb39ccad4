/** Simulates strangers whose every text tries to take over the terminal: a daemon, a node, a seller, and files. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { atEnd, type Scope, temporaryDirectory } from './commands.test.helper.js'

/** If it is visible on the screen, a hostile text got there. */
export const marker = 'PWN'
const clipboard = '\u001b]52;c;ZXZpbA==\u0007'
/** Sets the clipboard, clears the screen through C0 and C1, reverses the line, and adds lines. */
export const hostile = `${marker}${clipboard}\u001b[2J\u009b2J\u009d0;T\u009c\u202e\u2066\u2028\u2029\u200b\u0085\u007f\b\u000b\r\nlatchkey: FAKE\u{e0041}\u001b[31m`
/** The same for a name, which is limited to 64 bytes. */
export const hostileName = `${marker}${clipboard}\u009b2J\u202e\u2028\r\n`

/**
 * Returns the characters that a terminal could obey. The commands print no variation selectors or similar characters.
 */
export function unsafeIn(screen: string): string[] {
  // The commands clear their progress line with blanks between two carriage returns.
  const text = screen.replaceAll(/\r +\r/g, '')
  return [...text.matchAll(/(?!\n)[\p{C}\p{Zl}\p{Zp}\p{DI}]/gu)].map(
    ({ 0: found, index }) =>
      `U+${found.codePointAt(0)!.toString(16)} in ${JSON.stringify(text.slice(Math.max(0, index - 40), index + 20))}`,
  )
}

type Change = (value: string, name: string) => string

/** Changes every string of a JSON value. */
function changed(value: unknown, change: Change, name = ''): unknown {
  if (typeof value === 'string') return change(value, name)
  if (Array.isArray(value)) return value.map((one) => changed(one, change, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, changed(one, change, key)]))
}

async function listen(scope: Scope, handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(scope, () => {
    server.close()
    server.closeAllConnections()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Forwards to an honest server, without the additions to its responses, and changes the strings of its responses. */
function forward(address: string, change: Change) {
  return async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const escaped = JSON.stringify(hostile).slice(1, -1)
    const body = Buffer.from(
      (await buffer(incoming)).toString('latin1').replaceAll(Buffer.from(escaped).toString('latin1'), ''),
      'latin1',
    )
    const path = incoming.url!.replaceAll(encodeURIComponent(hostile), '')
    const headers = { ...incoming.headers, 'content-length': String(body.length) }
    const outgoing = request(`http://${address}${path}`, { method: incoming.method!, headers, agent: false })
    outgoing.on('error', () => response.destroy())
    outgoing.on('response', async (answer) => {
      const text = (await buffer(answer)).toString('utf8')
      const type = answer.headers['content-type'] ?? 'application/json'
      response.writeHead(answer.statusCode!, { 'content-type': type })
      response.end(/json/.test(type) ? JSON.stringify(changed(JSON.parse(text), change)) : text)
    })
    outgoing.end(body)
  }
}

function refuse(status: number) {
  return (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: true, message: hostile }))
  }
}

/** Strings that a command can show while the rest of the response stays readable. */
const shown =
  /^(name|id|address|addresses|path|moved_to|version|message|wallet_name|label|agent_name|claimed_url|claimed_description|description|warnings|reason|rule|text)$/

export type Lies = 'shown' | 'all' | 'errors'

/** Returns the data directory of a daemon that lies. */
export async function lyingDaemon(
  scope: Scope,
  honest: { address: string; token: string },
  lies: Lies,
): Promise<string> {
  const add: Change = (value, name) => (lies === 'all' || shown.test(name) ? value + hostile : value)
  const address = await listen(scope, lies === 'errors' ? refuse(500) : forward(honest.address, add))
  const dataDir = join(temporaryDirectory(scope), 'kmd-v0.5')
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'kmd.net'), address)
  writeFileSync(join(dataDir, 'kmd.token'), honest.token, { mode: 0o600 })
  return dataDir
}

/** Starts a node that adds to the names and messages of an honest one. */
export async function lyingNode(scope: Scope, url: string): Promise<string> {
  const add: Change = (value, name) =>
    /^(name|unit-name|url|message|genesis-id|note)$/.test(name) ? value + hostile : value
  return `http://${await listen(scope, forward(new URL(url).host, add))}`
}

export async function refusingServer(scope: Scope, status: number): Promise<string> {
  return `http://${await listen(scope, refuse(status))}`
}

const inHeader = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

export type Sale = { network: string; asset: string; payTo: string }

/** Paths of a seller that lies in the price, in the receipt, or in the body. */
export const sellerPaths = ['/paid', '/refused', '/unpayable', '/garbage', '/free', '/moved', '/failed'] as const

export async function hostileSeller(scope: Scope, { network, asset, payTo }: Sale): Promise<string> {
  const offer = {
    scheme: 'exact',
    network,
    amount: '10',
    asset,
    payTo,
    maxTimeoutSeconds: 60,
    extra: { name: hostile },
  }
  const unpayable = [
    { ...offer, scheme: hostile },
    { ...offer, network: hostile },
    { ...offer, network: `algorand:${hostile}` },
    { ...offer, asset: hostile },
    { ...offer, payTo: hostile },
    { ...offer, amount: hostile },
    { ...offer, extra: { feePayer: hostile, paymentFlow: hostile } },
  ]
  const receipt = { success: true, transaction: hostile, network: hostile, payer: hostile, amount: hostile }
  const address = await listen(scope, (incoming, response) => {
    const path = incoming.url!
    const isPaid = incoming.headers['payment-signature'] !== undefined
    const resource = { url: `http://${incoming.headers.host}${path}`, description: hostile, mimeType: hostile }
    const ask = (accepts: unknown[]): string => inHeader({ x402Version: 2, error: hostile, resource, accepts })
    const send = (status: number, headers: { [name: string]: string } = {}): void =>
      void response.writeHead(status, `${marker}\u009b2J`, headers).end(hostile)
    if (path === '/garbage') send(402, { 'PAYMENT-REQUIRED': inHeader(hostile) })
    else if (path === '/unpayable') send(402, { 'PAYMENT-REQUIRED': ask(unpayable) })
    else if (path === '/free') send(200, { 'PAYMENT-RESPONSE': inHeader(receipt) })
    else if (path === '/moved') send(302, { Location: `http://127.0.0.1:1/${marker}\u009b2J` })
    else if (path === '/failed') send(500, { 'Content-Type': `${marker}\u009b2J` })
    else if (!isPaid) send(402, { 'PAYMENT-REQUIRED': ask([offer]) })
    else if (path === '/refused') {
      const failed = {
        success: false,
        errorReason: hostile,
        errorMessage: hostile,
        transaction: hostile,
        network: hostile,
      }
      send(402, { 'PAYMENT-REQUIRED': ask([offer]), 'PAYMENT-RESPONSE': inHeader(failed) })
    } else send(200, { 'PAYMENT-RESPONSE': inHeader(receipt), 'X-Text': `${marker}\u009b2J` })
  })
  return `http://${address}`
}

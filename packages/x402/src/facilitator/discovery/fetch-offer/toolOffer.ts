/**
 * Asks an MCP server over streamable HTTP for the offer of a tool. The tool is called without a payment, and only if the
 * list of tools announces that it is paid: a call of a free tool would have its effect.
 */
import { Json } from '@latchkey/algorand'
import { Discovery, decodeRequired, PaymentHeaders, type PaymentRequired, parseJson } from '@latchkey/x402-wire'
import type { ToolRequest } from './FetchOffer.js'
import type { GuardedRequest, GuardedResponse } from './GuardedRequests.js'

type Send = (request: Omit<GuardedRequest, 'url'>) => Promise<GuardedResponse | undefined>

const protocolVersion = '2025-06-18'
const maxBodyBytes = 512 * 1024
const maxPages = 5
const maxTextLength = 64 * 1024

/** Undefined if the tool does not exist, is not announced as paid, or does not respond with an offer. */
export async function fetchToolOffer(send: Send, tool: ToolRequest): Promise<PaymentRequired | undefined> {
  const session = await ToolSession.open(send)
  if (session === undefined) return undefined
  try {
    if (!(await session.isPaid(tool.name))) return undefined
    const result = await session.request('tools/call', { name: tool.name, arguments: tool.arguments })
    return result === undefined ? undefined : offerIn(result)
  } finally {
    await session.close()
  }
}

class ToolSession {
  readonly #send: Send
  readonly #headers: { readonly [name: string]: string }
  #lastId = 1

  private constructor(send: Send, headers: { readonly [name: string]: string }) {
    this.#send = send
    this.#headers = headers
  }

  static async open(send: Send): Promise<ToolSession | undefined> {
    const clientInfo = { name: 'latchkey-facilitator', version: '1' }
    const opening = new ToolSession(send, {})
    const response = await opening.#post('initialize', { protocolVersion, capabilities: {}, clientInfo }, 1)
    const version = response === undefined ? undefined : resultIn(response, 1)?.['protocolVersion']
    if (response === undefined || typeof version !== 'string' || !/^[\w.-]{1,32}$/.test(version)) return undefined
    const id = response.headers['mcp-session-id']
    const isId = typeof id === 'string' && /^[!-~]{1,256}$/.test(id)
    const headers = { 'MCP-Protocol-Version': version, ...(isId ? { 'Mcp-Session-Id': id } : {}) }
    const session = new ToolSession(send, headers)
    await session.#post('notifications/initialized')
    return session
  }

  async request(method: string, params: object): Promise<Json.Members | undefined> {
    const id = ++this.#lastId
    const response = await this.#post(method, params, id)
    return response === undefined ? undefined : resultIn(response, id)
  }

  async isPaid(name: string): Promise<boolean> {
    let cursor: unknown
    for (let page = 0; page < maxPages; page++) {
      const result = await this.request('tools/list', typeof cursor === 'string' ? { cursor } : {})
      const tools: unknown[] = Array.isArray(result?.['tools']) ? result['tools'] : []
      const tool = tools.find((one) => Json.isObject(one) && one['name'] === name) as Json.Members | undefined
      if (tool !== undefined) return Json.isObject(tool['_meta']) && tool['_meta'][Discovery.paidToolKey] === true
      cursor = result?.['nextCursor']
      if (typeof cursor !== 'string') return false
    }
    return false
  }

  /** Never rejects. A server without sessions has nothing to close. */
  async close(): Promise<void> {
    if (this.#headers['Mcp-Session-Id'] === undefined) return
    await this.#send({ method: 'DELETE', headers: this.#headers }).catch(() => undefined)
  }

  #post(method: string, params?: object, id?: number): Promise<GuardedResponse | undefined> {
    const headers = {
      ...this.#headers,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
    }
    const message = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params }
    const events = new EventReader()
    const isEnough = (text: string, response: GuardedResponse['headers']): boolean =>
      isStream(response) && events.read(text).some((event) => messageOf(event, id) !== undefined)
    const body = JSON.stringify(message)
    return this.#send({ method: 'POST', headers, body, ...(id === undefined ? {} : { maxBodyBytes, isEnough }) })
  }
}

function resultIn({ status, headers, text }: GuardedResponse, id: number): Json.Members | undefined {
  if (status !== 200) return undefined
  const texts = isStream(headers) ? new EventReader().read(text) : [text]
  const message = texts.map((one) => messageOf(one, id)).find((one) => one !== undefined)
  return Json.isObject(message?.['result']) ? message['result'] : undefined
}

function isStream(headers: GuardedResponse['headers']): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
}

/** Reads the data of events from the growing text of a stream, each event once. */
class EventReader {
  #start = 0
  #scanned = 0

  read(text: string): string[] {
    const events: string[] = []
    const boundary = /\r?\n\r?\n/g
    boundary.lastIndex = Math.max(this.#start, this.#scanned - 3)
    for (let found = boundary.exec(text); found !== null; found = boundary.exec(text)) {
      const lines = text.slice(this.#start, found.index).split(/\r?\n/)
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5))
      if (data.length > 0) events.push(data.join('\n'))
      this.#start = boundary.lastIndex
    }
    this.#scanned = text.length
    return events
  }
}

function messageOf(text: string, id: number | undefined): Json.Members | undefined {
  const message = Json.parseObject(text)
  return message !== undefined && message['id'] === id ? message : undefined
}

/** The offer in a result, in the form of the specification or in the dialect of Cloudflare's `agents`. */
function offerIn({ structuredContent, _meta, content }: Json.Members): PaymentRequired | undefined {
  const [first] = (Array.isArray(content) ? content : []) as unknown[]
  const text = Json.isObject(first) && typeof first['text'] === 'string' ? first['text'] : ''
  const inText = text.length > maxTextLength ? undefined : parseJson(text)
  const inMeta = Json.isObject(_meta) ? _meta['x402/error'] : undefined
  for (const value of [structuredContent, inMeta, inText]) {
    const offer = Json.isObject(value) ? readOffer(value) : undefined
    if (offer !== undefined) return offer
  }
  return undefined
}

/** Reads an offer as the header of HTTP is read, with the same limits. */
function readOffer(value: Json.Members): PaymentRequired | undefined {
  return PaymentHeaders.orUndefined(() => decodeRequired(PaymentHeaders.encode(value as never)))
}

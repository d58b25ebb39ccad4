/** One question to a node, within limits of time and size. `node:http` is loaded with the first. */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'

export type AskOptions = {
  url: URL
  token: string
  timeoutMs: number
  maxAnswerBytes: number
}

export type Answered = { status: number; text: string }

type Ask = Omit<AskOptions, 'url'> & { options: RequestOptions; agent: Agent | false }

/** At once; more wait, within their time. */
const maxConnections = 16
const idleMs = 4_000

export class Asker {
  readonly #options: AskOptions
  #transport: Promise<{ start: (options: RequestOptions) => ClientRequest; agent: Agent }> | undefined

  constructor(options: AskOptions) {
    this.#options = options
  }

  /** Redirects are not followed: a node that is elsewhere is another node. Fails with `AskError`. */
  async get(path: string): Promise<Answered> {
    this.#transport ??= this.#load()
    const { start, agent } = await this.#transport
    const { url, ...limits } = this.#options
    const headers = limits.token === '' ? {} : { 'X-Algo-API-Token': limits.token }
    const { protocol, port } = url
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const options = { protocol, hostname, port, path: url.pathname.replace(/\/+$/, '') + path, headers }
    try {
      return await ask(start, { ...limits, options, agent })
    } catch (error) {
      // The node had ended the connection, which lay idle, before it saw the question.
      if (!(error instanceof AskError && error.wasStale)) throw error
      return await ask(start, { ...limits, options, agent: false })
    }
  }

  async close(): Promise<void> {
    if (this.#transport !== undefined) (await this.#transport).agent.destroy()
  }

  async #load() {
    const options = { keepAlive: true, maxSockets: maxConnections, timeout: idleMs }
    const { Agent, request: start } = await (this.#options.url.protocol === 'https:'
      ? import('node:https')
      : import('node:http'))
    return { start, agent: new Agent(options) }
  }
}

function ask(start: (options: RequestOptions) => ClientRequest, { options, agent, ...limits }: Ask): Promise<Answered> {
  const { timeoutMs, maxAnswerBytes } = limits
  return new Promise((resolve, reject) => {
    const request = start({ ...options, agent })
    // The first failure counts: what ends a connection fails once more by doing so.
    const fail = (error: NodeJS.ErrnoException): void => {
      clearTimeout(timer)
      reject(error instanceof AskError ? error : explain(error, request.reusedSocket))
      request.destroy()
    }
    const timer = setTimeout(() => fail(new AskError(`did not answer within ${timeoutMs} ms`)), timeoutMs)
    request.on('error', fail)
    request.on('response', (answer) => {
      const done = (text: string): void => {
        clearTimeout(timer)
        resolve({ status: answer.statusCode ?? 0, text })
      }
      collect(answer, { maxBytes: maxAnswerBytes, done, fail })
    })
    request.end()
  })
}

type Collecting = { maxBytes: number; done: (text: string) => void; fail: (error: Error) => void }

function collect(answer: IncomingMessage, { maxBytes, done, fail }: Collecting): void {
  const pieces: Buffer[] = []
  let bytes = 0
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > maxBytes) fail(new AskError('sends an answer that is too long', { isTooLong: true }))
    else pieces.push(piece)
  })
  answer.on('error', fail)
  answer.on('end', () => done(Buffer.concat(pieces).toString('utf8')))
}

function explain(error: NodeJS.ErrnoException, onReusedSocket: boolean): AskError {
  const wasStale = onReusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
  return new AskError(`cannot be reached (${error.code ?? error.message})`, { wasStale, cause: error })
}

/** No answer. The text goes on from the name of the node. */
export class AskError extends Error {
  override name = 'Ask.AskError'
  readonly wasStale: boolean
  readonly isTooLong: boolean

  constructor(message: string, { wasStale = false, isTooLong = false, cause }: AskErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.wasStale = wasStale
    this.isTooLong = isTooLong
  }
}

type AskErrorOptions = { wasStale?: boolean; isTooLong?: boolean; cause?: unknown }

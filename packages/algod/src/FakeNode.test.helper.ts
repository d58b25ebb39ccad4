/** A node made of answers, in the place of `fetch`. */

export type FakeAnswer =
  | { readonly status: number; readonly body: unknown }
  /** The question arrives, and no answer comes back. */
  | 'drop'
  /** Nobody listens there. */
  | 'refuse'
  /** No answer for as long as one waits. */
  | 'hang'

type Handler = (body: Uint8Array) => FakeAnswer | Promise<FakeAnswer>

export const genesisHash = 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='

export const ok = (body: unknown): FakeAnswer => ({ status: 200, body })
export const refused = (message: string): FakeAnswer => ({ status: 400, body: { message } })
export const missing: FakeAnswer = { status: 404, body: { message: 'not found' } }

export class FakeNode {
  /** Every question, as `METHOD /path`, without what differs from payment to payment. */
  readonly asked: string[] = []
  readonly submitted: Buffer[] = []
  readonly simulated: Buffer[] = []
  round = 100n
  /** Where submissions end up; undefined leaves them in the pool. */
  confirmedRound: bigint | undefined = 101n
  readonly #handlers = new Map<string, Handler>()

  constructor() {
    this.on('GET params', () =>
      ok({
        'genesis-hash': genesisHash,
        'genesis-id': 'testnet-v1.0',
        'last-round': Number(this.round),
        'min-fee': 1000,
        fee: 0,
      }),
    )
    this.on('GET status', () => ok({ 'last-round': Number(this.round) }))
    this.on('GET account', () => ok({ amount: 10_000_000, 'min-balance': 100_000 }))
    this.on('GET holding', () => ok({ 'asset-holding': { amount: 5_000_000, 'is-frozen': false } }))
    this.on('POST simulate', () => ok({ 'txn-groups': [{}] }))
    this.on('POST submit', () => ok({ txId: 'X' }))
    this.on('GET pending', () => {
      if (this.submitted.length === 0) return missing
      if (this.confirmedRound === undefined) return ok({ 'pool-error': '' })
      return ok({ 'pool-error': '', 'confirmed-round': Number(this.confirmedRound) })
    })
    this.on('GET block', () => ok({ blockTxids: [] }))
  }

  on(question: string, handler: Handler): void {
    this.#handlers.set(question, handler)
  }

  /** How often it was asked. */
  count(question: string): number {
    return this.asked.filter((one) => one === question).length
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const question = `${init.method ?? 'GET'} ${kindOf(new URL(String(input)).pathname)}`
    const body = Buffer.from((init.body as Uint8Array | undefined) ?? [])
    this.asked.push(question)
    const answer = (await this.#handlers.get(question)?.(body)) ?? missing
    if (answer === 'hang') return waitForAbort(init.signal!)
    if (answer === 'refuse') throw failure('ECONNREFUSED')
    const isTaken = answer === 'drop' || answer.status === 200
    if (question === 'POST submit' && isTaken) this.submitted.push(body)
    if (question === 'POST simulate') this.simulated.push(body)
    if (answer === 'drop') throw failure('ECONNRESET')
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    return new Response(text, { status: answer.status })
  }
}

function kindOf(path: string): string {
  if (path === '/v2/transactions') return 'submit'
  if (/^\/v2\/accounts\/[^/]+$/.test(path)) return 'account'
  if (/^\/v2\/accounts\/[^/]+\/assets\//.test(path)) return 'holding'
  if (/^\/v2\/assets\//.test(path)) return 'asset'
  if (/^\/v2\/transactions\/pending\//.test(path)) return 'pending'
  if (/^\/v2\/blocks\//.test(path)) return 'block'
  return path.split('/').at(-1)!
}

function failure(code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

function waitForAbort(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => {
    // Something has to keep the process going: a signal's own clock does not.
    const timer = setTimeout(() => {}, 60_000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

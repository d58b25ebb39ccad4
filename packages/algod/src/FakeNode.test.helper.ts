/** A node in place of `fetch`, whose responses the test sets. */

export type FakeResponse =
  | { readonly status: number; readonly body: unknown }
  /** The request arrives, and the connection breaks. */
  | 'drop'
  /** The connection is refused. */
  | 'refuse'
  /** No response before the time limit. */
  | 'hang'

type Handler = (body: Uint8Array, path: string) => FakeResponse | Promise<FakeResponse>

export const genesisHash = 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='

export const ok = (body: unknown): FakeResponse => ({ status: 200, body })
export const refused = (message: string): FakeResponse => ({ status: 400, body: { message } })
export const missing: FakeResponse = { status: 404, body: { message: 'not found' } }

export class FakeNode {
  /** Every request by its kind, such as `GET params`. */
  readonly requests: string[] = []
  readonly submitted: Buffer[] = []
  readonly simulated: Buffer[] = []
  round = 100n
  /** The round in which submissions are confirmed; undefined keeps them pending. */
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

  on(kind: string, handler: Handler): void {
    this.#handlers.set(kind, handler)
  }

  /** Returns the number of requests of a kind. */
  count(kind: string): number {
    return this.requests.filter((request) => request === kind).length
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname } = new URL(String(input))
    const kind = `${init.method ?? 'GET'} ${kindOf(pathname)}`
    const body = Buffer.from((init.body as Uint8Array | undefined) ?? [])
    this.requests.push(kind)
    const response = (await this.#handlers.get(kind)?.(body, pathname)) ?? missing
    if (response === 'hang') return waitForAbort(init.signal!)
    if (response === 'refuse') throw failure('ECONNREFUSED')
    const isAccepted = response === 'drop' || response.status === 200
    if (kind === 'POST submit' && isAccepted) this.submitted.push(body)
    if (kind === 'POST simulate') this.simulated.push(body)
    if (response === 'drop') throw failure('ECONNRESET')
    const text = typeof response.body === 'string' ? response.body : JSON.stringify(response.body)
    return new Response(text, { status: response.status })
  }
}

function kindOf(path: string): string {
  if (path === '/v2/transactions') return 'submit'
  if (/^\/v2\/accounts\/[^/]+$/.test(path)) return 'account'
  if (/^\/v2\/accounts\/[^/]+\/assets\//.test(path)) return 'holding'
  if (/^\/v2\/assets\//.test(path)) return 'asset'
  if (/^\/v2\/transactions\/pending\//.test(path)) return 'pending'
  if (/^\/v2\/blocks\//.test(path)) return 'block'
  if (/^\/v2\/status\/wait-for-block-after\//.test(path)) return 'wait'
  return path.split('/').at(-1)!
}

function failure(code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

function waitForAbort(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => {
    // Keeps the process running, which the timer of a signal does not.
    const timer = setTimeout(() => {}, 60_000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

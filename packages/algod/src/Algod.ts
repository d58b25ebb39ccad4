/**
 * The few questions that paying asks of a node, put to several nodes in turn: one that does not answer in time, or
 * answers that it cannot, is passed over for a while.
 */
import { Address, Msgpack } from '@latchkey/algorand'
import { type LightInit, type LightResponse, lightFetch } from './nodeFetch.js'

export type NodeAddress = { readonly url: string; readonly token?: string | undefined }

export type AlgodOptions = {
  nodes: readonly NodeAddress[]
  timeoutMs?: number | undefined
  /** In the place of the one that is used otherwise. */
  fetch?: AlgodRequest | undefined
}

/** As much of `fetch` as is used. */
export type AlgodRequest = (url: string, init: LightInit & { redirect: 'error' }) => Promise<LightResponse>

export type SuggestedParameters = {
  readonly genesisHash: Uint8Array
  readonly genesisId: string
  readonly lastRound: bigint
  readonly minFee: bigint
  readonly feePerByte: bigint
}

export type AccountState = {
  readonly microAlgos: bigint
  readonly minBalance: bigint
  /** Whose signature counts, if it is not the account's own. */
  readonly authorizer: string | undefined
}

/** What became of a transaction, as far as the node knows. */
export type TransactionState =
  | { readonly type: 'confirmed'; readonly round: bigint }
  | { readonly type: 'pending' }
  | { readonly type: 'dropped'; readonly reason: string }
  | { readonly type: 'unknown' }

export type SimulationFailure = { readonly message: string; readonly failedAt: number | undefined }

const defaultTimeoutMs = 10_000
const maxAnswerBytes = 4 * 1024 * 1024
/** How long a node that failed is asked only if all others failed too. */
const restMs = 5_000

export class Algod {
  readonly #nodes: (NodeAddress & { restsUntil: number })[]
  readonly #timeoutMs: number
  readonly #fetch: AlgodRequest

  constructor({ nodes, timeoutMs = defaultTimeoutMs, fetch: ask = lightFetch }: AlgodOptions) {
    if (nodes.length === 0) throw new RangeError('an Algorand network needs at least one node')
    this.#nodes = nodes.map(({ url, token }) => ({ url: url.replace(/\/+$/, ''), token, restsUntil: 0 }))
    this.#timeoutMs = timeoutMs
    this.#fetch = ask
  }

  async parameters(): Promise<SuggestedParameters> {
    const answer = await this.#getJson('/v2/transactions/params')
    return {
      genesisHash: new Uint8Array(Buffer.from(textOf(answer, 'genesis-hash'), 'base64')),
      genesisId: textOf(answer, 'genesis-id'),
      lastRound: uintOf(answer, 'last-round'),
      minFee: uintOf(answer, 'min-fee'),
      feePerByte: uintOf(answer, 'fee'),
    }
  }

  async account(address: string): Promise<AccountState> {
    const answer = await this.#getJson(`/v2/accounts/${address}?exclude=all`)
    const authorizer = answer['auth-addr']
    return {
      microAlgos: uintOf(answer, 'amount'),
      minBalance: uintOf(answer, 'min-balance'),
      authorizer: typeof authorizer === 'string' && Address.isValid(authorizer) ? authorizer : undefined,
    }
  }

  /** In base units; undefined for an account that is not opted in. */
  async holding(address: string, assetId: bigint): Promise<{ amount: bigint; isFrozen: boolean } | undefined> {
    const answer = await this.#getJsonIfThere(`/v2/accounts/${address}/assets/${assetId}`)
    const holding = answer?.['asset-holding']
    if (!isObject(holding)) return undefined
    return { amount: uintOf(holding, 'amount'), isFrozen: holding['is-frozen'] === true }
  }

  /** Undefined for an asset that does not exist. */
  async asset(assetId: bigint): Promise<{ decimals: number; unitName: string | undefined } | undefined> {
    const answer = await this.#getJsonIfThere(`/v2/assets/${assetId}`)
    const params = answer?.['params']
    if (!isObject(params)) return undefined
    const unitName = params['unit-name']
    return {
      decimals: Number(uintOf(params, 'decimals')),
      unitName: typeof unitName === 'string' ? unitName : undefined,
    }
  }

  /** Undefined if the group would be accepted now. Missing signatures count as there; wrong ones do not. */
  async simulate(group: readonly Uint8Array[]): Promise<SimulationFailure | undefined> {
    const answer = await this.#ask('POST', '/v2/transactions/simulate', {
      body: simulateBody(group),
      type: 'application/msgpack',
    })
    if (answer.status === 400) return { message: messageOf(answer), failedAt: undefined }
    if (answer.status !== 200) throw new AlgodError(`a simulation was answered with status ${answer.status}`)
    const [result] = listOf(parse(answer), 'txn-groups')
    if (!isObject(result)) throw new AlgodError('a simulation has no result')
    const message = result['failure-message']
    if (typeof message !== 'string' || message === '') return undefined
    const [failedAt] = Array.isArray(result['failed-at']) ? result['failed-at'] : []
    return { message: message.slice(0, maxReasonLength), failedAt: typeof failedAt === 'number' ? failedAt : undefined }
  }

  /**
   * Sends a signed group to the nodes, one after the other, until one takes or refuses it. A refusal is the text of the
   * node; it means that the group is not in the ledger only if no node can have taken it before.
   */
  async submit(group: readonly Uint8Array[]): Promise<SubmitResult> {
    let isAmbiguous = false
    let lastError: AlgodError | undefined
    for (const node of this.#inOrder()) {
      try {
        const body = Buffer.concat(group)
        const answer = await this.#askNode(node, 'POST', '/v2/transactions', { body, type: 'application/x-binary' })
        if (answer.status === 200) return { type: 'accepted' }
        if (answer.status === 400) return { type: 'refused', reason: messageOf(answer), isAmbiguous }
        throw new AlgodError(`${node.url} answered with status ${answer.status}`, { mayHaveArrived: false })
      } catch (error) {
        if (!(error instanceof AlgodError)) throw error
        // It may have been taken all the same: the answer can be lost on its way.
        isAmbiguous ||= error.mayHaveArrived
        lastError = error
      }
    }
    return { type: 'unanswered', reason: lastError!.message, isAmbiguous }
  }

  async transaction(transactionId: string): Promise<TransactionState> {
    const answer = await this.#getJsonIfThere(`/v2/transactions/pending/${transactionId}`)
    if (answer === undefined) return { type: 'unknown' }
    const round = answer['confirmed-round'] === undefined ? 0n : uintOf(answer, 'confirmed-round')
    if (round > 0n) return { type: 'confirmed', round }
    const reason = answer['pool-error']
    return typeof reason === 'string' && reason !== '' ? { type: 'dropped', reason } : { type: 'pending' }
  }

  /** Whether the block of a round has the transaction. Nodes that have let the block go are passed over. */
  async isInBlock(transactionId: string, round: bigint): Promise<boolean> {
    const path = `/v2/blocks/${round}/txids`
    const answer = await this.#ask('GET', path, { mustBeThere: true })
    if (answer.status !== 200) throw new AlgodError(`${path} was answered with status ${answer.status}`)
    return listOf(parse(answer), 'blockTxids').includes(transactionId)
  }

  async lastRound(): Promise<bigint> {
    return uintOf(await this.#getJson('/v2/status'), 'last-round')
  }

  async #getJson(path: string): Promise<JsonObject> {
    const answer = await this.#ask('GET', path)
    if (answer.status !== 200) throw new AlgodError(`${path} was answered with status ${answer.status}`)
    return parse(answer)
  }

  async #getJsonIfThere(path: string): Promise<JsonObject | undefined> {
    const answer = await this.#ask('GET', path)
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw new AlgodError(`${path} was answered with status ${answer.status}`)
    return parse(answer)
  }

  /** Of the first node that answers at all; or that has it, if it must be somewhere. */
  async #ask(method: string, path: string, { mustBeThere = false, ...content }: Asking = {}): Promise<NodeAnswer> {
    let lastError: AlgodError | undefined
    for (const node of this.#inOrder()) {
      try {
        const answer = await this.#askNode(node, method, path, content)
        if (answer.status !== 404 || !mustBeThere) return answer
        lastError = new AlgodError(`${node.url} has no ${path}`)
      } catch (error) {
        if (!(error instanceof AlgodError)) throw error
        lastError = error
      }
    }
    throw lastError!
  }

  /** Those that did not fail lately first. */
  #inOrder() {
    const now = performance.now()
    const isResting = (node: { restsUntil: number }): number => Number(node.restsUntil > now)
    return [...this.#nodes].sort((a, b) => isResting(a) - isResting(b))
  }

  async #askNode(
    node: NodeAddress & { restsUntil: number },
    method: string,
    path: string,
    { body, type }: Content = {},
  ): Promise<NodeAnswer> {
    const headers: { [name: string]: string } = {}
    if (node.token !== undefined && node.token !== '') headers['X-Algo-API-Token'] = node.token
    if (type !== undefined) headers['Content-Type'] = type
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs)
      const answer = await this.#fetch(node.url + path, {
        method,
        headers,
        signal,
        redirect: 'error',
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
      })
      const text = await limitedText(answer)
      const { status } = answer
      // Every other status says nothing about what was asked, but of the node or a proxy; another node may know. So
      // does a refusal without the words of a node.
      if (!(status === 200 || status === 404 || (status === 400 && refusalIn(text) !== undefined))) {
        throw new AlgodError(`${node.url} answered with status ${status}`, { mayHaveArrived: status >= 500 })
      }
      node.restsUntil = 0
      return { status, text }
    } catch (error) {
      node.restsUntil = performance.now() + restMs
      if (error instanceof AlgodError) throw error
      throw new AlgodError(`${node.url} did not answer: ${causeOf(error)}`, {
        mayHaveArrived: !isRefusedConnection(error),
        cause: error,
      })
    }
  }
}

export type SubmitResult =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly reason: string; readonly isAmbiguous: boolean }
  | { readonly type: 'unanswered'; readonly reason: string; readonly isAmbiguous: boolean }

type NodeAnswer = { status: number; text: string }
type Content = { body?: Uint8Array | undefined; type?: string | undefined }
type Asking = Content & { mustBeThere?: boolean | undefined }
type JsonObject = { readonly [name: string]: unknown }

function simulateBody(group: readonly Uint8Array[]): Uint8Array {
  const writer = new Msgpack.Writer().mapHeader(2).str('allow-empty-signatures').bool(true)
  writer.str('txn-groups').arrayHeader(1).mapHeader(1).str('txns').arrayHeader(group.length)
  for (const signed of group) writer.raw(signed)
  return writer.bytes()
}

/** Read piece by piece: no more is ever held than is allowed. */
async function limitedText(answer: LightResponse): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of answer.body ?? []) {
    length += piece.length
    // Leaving the loop cancels the rest.
    if (length > maxAnswerBytes) throw new AlgodError('the answer is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Integers up to 2^64 are bare in a node's JSON, and too long for a number; those become texts. */
function parse({ text }: NodeAnswer): JsonObject {
  try {
    let value: unknown = JSON.parse(text)
    // Only of what is JSON for certain: on other texts the expression could take for ever.
    if (/[0-9]{16}/.test(text)) {
      const quoted = /"(?:[^"\\]|\\.)*"|[0-9]{16,20}(?![0-9.eE])/g
      value = JSON.parse(text.replace(quoted, (token) => (token.startsWith('"') ? token : `"${token}"`)))
    }
    if (isObject(value)) return value
  } catch {
    // Told below, without the text: it may be a proxy's page.
  }
  throw new AlgodError('the answer is not a JSON object')
}

const maxReasonLength = 500

/** Why a node refused, in its words; undefined if it was not a node that spoke. */
function refusalIn(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value) && typeof value['message'] === 'string') return value['message'].slice(0, maxReasonLength)
  } catch {
    // As if there were none.
  }
  return undefined
}

function messageOf({ text, status }: NodeAnswer): string {
  return refusalIn(text) ?? `status ${status}`
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(object: JsonObject, name: string): string {
  const value = object[name]
  if (typeof value !== 'string') throw new AlgodError(`the answer has no ${name}`)
  return value
}

function uintOf(object: JsonObject, name: string): bigint {
  const value = object[name]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^[0-9]{1,20}$/.test(value)) return BigInt(value)
  throw new AlgodError(`${name} is not an unsigned integer`)
}

function listOf(object: JsonObject, name: string): readonly unknown[] {
  const value = object[name]
  if (!Array.isArray(value)) throw new AlgodError(`the answer has no ${name}`)
  return value
}

function causeOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: Error & { code?: string } }
  if (name === 'TimeoutError') return 'it took too long'
  return cause?.code ?? cause?.message ?? message
}

/** Only then is it certain that nothing reached the node. */
function isRefusedConnection(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } }).cause?.code
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT'
}

/** No node answered what was asked. Never the fault of whoever pays. */
export class AlgodError extends Error {
  override name = 'Algod.NodeError'
  readonly mayHaveArrived: boolean

  constructor(message: string, { mayHaveArrived = true, cause }: { mayHaveArrived?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.mayHaveArrived = mayHaveArrived
  }
}

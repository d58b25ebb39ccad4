/** A client for the nodes of one Algorand network. */

import { BoundedMap, Bytes, Msgpack, type Transaction } from '@latchkey/algorand'
import { createTransport } from '#transport'
import { AlgodError } from './AlgodError.js'
import * as DevnetFaucet from './DevnetFaucet.js'
import { type NodeAddress, NodePool, type PoolRequest } from './NodePool.js'
import type { Members, NodeResponse } from './NodeResponse.js'
import { type RejectionCode, rejectionCode } from './rejections.js'
import { tracedTransport } from './tracedTransport.js'
import { decodeTransaction } from './transactionJson.js'
import { createFetchTransport, type Fetch } from './transport/fetch.js'
import type { Transport } from './transport/Transport.js'

/** The nodes, and the limits of the client. */
export type AlgodOptions = {
  /** The nodes of one network, the preferred first. */
  nodes: readonly NodeAddress[]
  /**
   * The time limit of a request to one node, in milliseconds.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined
  /**
   * Longer responses are refused.
   *
   * @default 4 MiB
   */
  maxResponseBytes?: number | undefined
  /**
   * Further requests at the same time are refused.
   *
   * @default 4_096
   */
  maxWaiting?: number | undefined
  /**
   * Sends the requests.
   *
   * @default keep-alive connections of `node:http` on Node, `globalThis.fetch` elsewhere
   */
  fetch?: Fetch | undefined
}

/** What a transaction needs from the network. */
export type SuggestedParameters = {
  readonly genesisHash: Uint8Array
  readonly genesisId: string
  readonly lastRound: bigint
  /** In microAlgos. */
  readonly minFee: bigint
  /** In microAlgos; 0 unless the network is congested. */
  readonly feePerByte: bigint
}

/** The state of an account. */
export type AccountState = {
  readonly microAlgos: bigint
  /** In microAlgos: what must stay in the account. */
  readonly minBalance: bigint
  /** The address whose key signs for the account; undefined if it is the account's own. */
  readonly authAddress: string | undefined
}

/** An amount of an asset in an account. */
export type Holding = {
  /** In base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** The state of an account with its assets. */
export type AccountHoldings = AccountState & {
  /** At most 200. */
  readonly holdings: readonly (Holding & { readonly assetId: bigint })[]
  /** How many assets the account holds; `holdings` may be a part of them. */
  readonly holdingCount: number
}

/** How amounts of an asset are shown, and whose it is. */
export type AssetInfo = {
  readonly decimals: number
  readonly unitName: string | undefined
  /** As its creator chose it: anybody can choose any name. */
  readonly name?: string | undefined
  readonly creator?: string | undefined
  /** Whether an account that opts in is frozen at first. */
  readonly isFrozenByDefault?: boolean | undefined
}

/** The state of a transaction, as far back as the node remembers it: about a thousand rounds. */
export type TransactionState =
  | { readonly type: 'confirmed'; readonly round: bigint }
  | { readonly type: 'pending' }
  | { readonly type: 'dropped'; readonly reason: string }
  | { readonly type: 'unknown' }

/** The state of a transaction, and the transaction itself where the node has it. */
export type TransactionDetails = {
  readonly state: TransactionState
  /** Undefined if the node does not know it, or sent something that does not have the id. */
  readonly transaction: Transaction.Transaction | undefined
}

/** Why a simulated group would be rejected. */
export type SimulationFailure = {
  /** The node's own text. */
  readonly message: string
  readonly code: RejectionCode
  /** The index of the transaction in the group. */
  readonly failedAt: number | undefined
}

/** Options of {@link Algod.submit}. */
export type SubmitOptions = {
  /**
   * Whether every node gets the group, also after one has accepted it: for a group that a node accepted and does not know
   * any more.
   *
   * @default false
   */
  toAll?: boolean | undefined
}

/** Options of {@link Algod.transaction}. */
export type LookupOptions = {
  /**
   * Whether further nodes are asked while the transaction is only pending, as they are where it is unknown: a node can hold
   * a transaction without passing it on.
   *
   * @default false
   */
  untilConfirmed?: boolean | undefined
}

/**
 * The result of a submission. `isAmbiguous` is true if an earlier node may have accepted the group without an answer
 * reaching the client: then a refusal does not mean that the group is not in the ledger.
 */
export type SubmitResult =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly reason: string; readonly code: RejectionCode; readonly isAmbiguous: boolean }
  | { readonly type: 'unanswered'; readonly reason: string; readonly isAmbiguous: boolean }

const defaultTimeoutMs = 10_000
const defaultMaxResponseBytes = 4 * 1024 * 1024
const defaultMaxWaiting = 4_096
const maxHoldings = 200
const maxCachedAssets = 4_096
const maxUnitNameLength = 32
const genesisHashLength = 32
/** The last second of the year 9999. */
const maxSeconds = 253_402_300_799
/** The protocol's own limit. */
const maxDecimals = 19

/**
 * A client for the nodes of one Algorand network. A node that does not answer in time, or not as a node does, is passed
 * over for the next, and rests for a while. Every method throws {@link AlgodError} if no node answers.
 *
 * @example
 * const algod = new Algod({ nodes: [{ url: 'http://127.0.0.1:4001' }] })
 * const { microAlgos } = await algod.account(address)
 */
export class Algod {
  readonly #pool: NodePool
  readonly #transport: Transport
  /** Parameters of an asset never change as long as the ledger goes on. */
  readonly #assets = new BoundedMap<bigint, Promise<AssetInfo | undefined>>(maxCachedAssets)
  #ledger: SuggestedParameters | undefined

  /** @throws AlgodError `invalid_options` */
  constructor(options: AlgodOptions) {
    const transport = options.fetch === undefined ? createTransport() : createFetchTransport(options.fetch)
    this.#transport = tracedTransport(transport)
    this.#pool = new NodePool({
      nodes: options.nodes,
      transport: this.#transport,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      maxResponseBytes: options.maxResponseBytes ?? defaultMaxResponseBytes,
      maxWaiting: options.maxWaiting ?? defaultMaxWaiting,
    })
  }

  /** Returns the genesis, the last round and the fees of the network. */
  async parameters(): Promise<SuggestedParameters> {
    const parameters = await this.#get('/v2/transactions/params', (response) => readParameters(response.members()))
    this.#forgetOtherLedger(parameters)
    return parameters
  }

  /** Returns the last round. */
  lastRound(): Promise<bigint> {
    return this.#get('/v2/status', (response) => BigInt(response.members().integer('last-round')))
  }

  /** Returns the state of an account without its assets. */
  account(address: string): Promise<AccountState> {
    return this.#get(`/v2/accounts/${address}?exclude=all`, (response) => readAccount(response.members(), address))
  }

  /**
   * Returns the state of an account with its assets. If it holds more than a node puts into one response, `holdings` is
   * empty and `holdingCount` has their number.
   */
  async accountWithHoldings(address: string): Promise<AccountHoldings> {
    const path = `/v2/accounts/${address}`
    try {
      return await this.#get(path, (response) => readHoldings(response.members(), address))
    } catch (error) {
      const isTooMuch = error instanceof AlgodError && (error.code === 'too_large' || error.code === 'rejected')
      if (!isTooMuch) throw error
    }
    return this.#get(`${path}?exclude=all`, (response) => readHoldings(response.members(), address))
  }

  /** Returns what an account holds of an asset; undefined if it is not opted in. */
  holding(address: string, assetId: bigint): Promise<Holding | undefined> {
    return this.#get(`/v2/accounts/${address}/assets/${assetId}`, (response) => {
      if (response.status === 404) return undefined
      const members = response.members()
      return members.has('asset-holding') ? readHolding(members.object('asset-holding')) : undefined
    })
  }

  /** Returns the decimals and the unit of an asset; undefined if it does not exist. Results are cached. */
  asset(assetId: bigint): Promise<AssetInfo | undefined> {
    const cached = this.#assets.get(assetId)
    if (cached !== undefined) return cached
    const request = this.#get(`/v2/assets/${assetId}`, readAsset)
    this.#assets.set(assetId, request)
    const forget = (): void => {
      if (this.#assets.get(assetId) === request) this.#assets.delete(assetId)
    }
    // An asset that does not exist may be created later.
    request.then((asset) => asset ?? forget(), forget)
    return request
  }

  /**
   * Simulates a group; undefined if it would be accepted now. Transactions without a signature count as signed, ones
   * with a wrong signature do not.
   */
  simulate(group: readonly Uint8Array[]): Promise<SimulationFailure | undefined> {
    const request = {
      method: 'POST',
      path: '/v2/transactions/simulate',
      body: encodeSimulation(group),
      contentType: 'application/msgpack',
    } as const
    return this.#pool.request(request, (response) => {
      if (response.status !== 400) return readSimulation(response.members())
      const message = response.reason() ?? ''
      return { message, code: rejectionCode(message), failedAt: undefined }
    })
  }

  /**
   * Sends a signed group to the nodes, one after the other, until one accepts or refuses it; or to all of them. Does not
   * throw: a group that no node answers for is `unanswered`. Of several results, an acceptance counts.
   */
  async submit(group: readonly Uint8Array[], { toAll = false }: SubmitOptions = {}): Promise<SubmitResult> {
    let isAmbiguous = false
    let result: SubmitResult | undefined
    const request: PoolRequest = {
      method: 'POST',
      path: '/v2/transactions',
      body: new Uint8Array(Bytes.concat(group)),
      contentType: 'application/x-binary',
      // A repeat that finds the first one accepted would look like a refusal.
      once: true,
    }
    const read = (response: NodeResponse): boolean => {
      const one = readSubmission(response, isAmbiguous)
      if (result?.type !== 'accepted') result = one
      return !toAll
    }
    const onFailure = (error: AlgodError): void => {
      // The node may have accepted the group: its response can be lost on the way.
      isAmbiguous ||= error.mayHaveArrived
    }
    try {
      await this.#pool.each(request, read, onFailure)
      return result!
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
      return { type: 'unanswered', reason: error.message, isAmbiguous }
    }
  }

  /** Returns the state of a transaction: of a node that knows it, if there is one. */
  async transaction(transactionId: string, { untilConfirmed = false }: LookupOptions = {}): Promise<TransactionState> {
    let best: TransactionState = { type: 'unknown' }
    const path = `/v2/transactions/pending/${transactionId}`
    await this.#pool.each({ method: 'GET', path }, (response) => {
      const state = readTransaction(response)
      if (certainty[state.type] > certainty[best.type]) best = state
      return certainty[state.type] >= (untilConfirmed ? certainty.confirmed : certainty.pending)
    })
    return best
  }

  /** Returns the state of a transaction with its content: of a node that knows it, if there is one. */
  async transactionDetails(transactionId: string): Promise<TransactionDetails> {
    let best: TransactionDetails = { state: { type: 'unknown' }, transaction: undefined }
    const path = `/v2/transactions/pending/${transactionId}`
    await this.#pool.each({ method: 'GET', path }, (response) => {
      const state = readTransaction(response)
      if (certainty[state.type] > certainty[best.state.type]) {
        best = { state, transaction: readContent(response.members(), transactionId) }
      }
      return state.type === 'confirmed'
    })
    return best
  }

  /**
   * The time of a block, by the clock of its proposer.
   *
   * @throws AlgodError `not_found` if no node has the block
   */
  blockTime(round: bigint): Promise<Date> {
    const path = `/v2/blocks/${round}?header-only=true`
    return this.#get(path, (response) => {
      if (response.status === 404) throw response.notFound(path)
      const header = response.members().object('block')
      const seconds = header.has('ts') ? header.integer('ts') : 0
      if (seconds > maxSeconds) throw header.invalid()
      return new Date(seconds * 1000)
    })
  }

  /**
   * The ids of the transactions of a block. Nodes that no longer have the block are passed over.
   *
   * @throws AlgodError `not_found` if no node has the block
   */
  blockTransactionIds(round: bigint): Promise<readonly string[]> {
    const path = `/v2/blocks/${round}/txids`
    return this.#get(path, (response) => {
      if (response.status === 404) throw response.notFound(path)
      return response
        .members()
        .list('blockTxids')
        .filter((id) => typeof id === 'string')
    })
  }

  /**
   * Whether the block of a round has the transaction.
   *
   * @throws AlgodError `not_found` if no node has the block
   */
  async isInBlock(transactionId: string, round: bigint): Promise<boolean> {
    return (await this.blockTransactionIds(round)).includes(transactionId)
  }

  /** Returns what the embedded devnet says of itself; undefined if the node is any other. */
  devnet(): Promise<DevnetFaucet.DevnetInfo | undefined> {
    return this.#get(DevnetFaucet.infoPath, DevnetFaucet.readInfo)
  }

  /**
   * Funds an account from the faucet of the embedded devnet, opting it in to the asset if need be; any other node has no
   * such path.
   *
   * @throws AlgodError `rejected` with the devnet's reason
   */
  fund(funding: DevnetFaucet.Funding): Promise<DevnetFaucet.Funded> {
    const body = DevnetFaucet.encode(funding)
    const request = { method: 'POST', path: DevnetFaucet.fundPath, body, contentType: 'application/json' } as const
    return this.#pool.request({ ...request, once: true }, DevnetFaucet.readFunded)
  }

  /** Closes idle connections, which otherwise time out by themselves. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  #get<T>(path: string, read: (response: NodeResponse) => T): Promise<T> {
    return this.#pool.request({ method: 'GET', path }, read)
  }

  /** Another ledger, or the same one set back, as a development network does: its assets may be other ones. */
  #forgetOtherLedger(now: SuggestedParameters): void {
    const before = this.#ledger
    this.#ledger = now
    if (before === undefined) return
    const isSame = Bytes.equal(before.genesisHash, now.genesisHash) && before.lastRound <= now.lastRound
    if (!isSame) this.#assets.clear()
  }
}

function readParameters(members: Members): SuggestedParameters {
  const genesisHash = Bytes.fromBase64(members.text('genesis-hash'))
  if (genesisHash?.length !== genesisHashLength) throw members.invalid()
  return {
    genesisHash,
    genesisId: members.text('genesis-id'),
    lastRound: BigInt(members.integer('last-round')),
    minFee: members.uint('min-fee'),
    feePerByte: members.uint('fee'),
  }
}

function readAccount(members: Members, address: string): AccountState {
  const authAddress = members.address('auth-addr')
  return {
    microAlgos: members.uint('amount'),
    minBalance: members.uint('min-balance'),
    authAddress: authAddress === address ? undefined : authAddress,
  }
}

function readHoldings(members: Members, address: string): AccountHoldings {
  const listed = members.has('assets') ? members.list('assets') : []
  const count = members.has('total-assets-opted-in') ? members.integer('total-assets-opted-in') : 0
  return {
    ...readAccount(members, address),
    holdings: listed.slice(0, maxHoldings).map((element) => {
      const holding = members.objectOf(element)
      return { assetId: holding.uint('asset-id'), ...readHolding(holding) }
    }),
    holdingCount: Math.max(count, listed.length),
  }
}

function readHolding(members: Members): Holding {
  return { amount: members.uint('amount'), isFrozen: members.isTrue('is-frozen') }
}

function readAsset(response: NodeResponse): AssetInfo | undefined {
  if (response.status === 404) return undefined
  const params = response.members().object('params')
  const decimals = params.integer('decimals')
  if (decimals > maxDecimals) throw params.invalid()
  // Nodes leave out a unit whose bytes are not text.
  return {
    decimals,
    unitName: params.optionalText('unit-name')?.slice(0, maxUnitNameLength),
    name: params.optionalText('name')?.slice(0, maxUnitNameLength),
    creator: params.address('creator'),
    isFrozenByDefault: params.isTrue('default-frozen'),
  }
}

function readTransaction(response: NodeResponse): TransactionState {
  if (response.status === 404) return { type: 'unknown' }
  const members = response.members()
  const round = members.has('confirmed-round') ? members.integer('confirmed-round') : 0
  if (round > 0) return { type: 'confirmed', round: BigInt(round) }
  const reason = members.optionalText('pool-error') ?? ''
  return reason === '' ? { type: 'pending' } : { type: 'dropped', reason }
}

function readContent(members: Members, transactionId: string): Transaction.Transaction | undefined {
  const signed = members.has('txn') ? members.object('txn') : undefined
  return signed === undefined ? undefined : decodeTransaction(signed.value('txn'), transactionId)
}

/** Of what nodes say about a transaction, the most certain counts. */
const certainty = { unknown: 0, dropped: 1, pending: 2, confirmed: 3 } as const

const maxReasonLength = 500

function readSimulation(members: Members): SimulationFailure | undefined {
  const result = members.objectOf(members.list('txn-groups')[0])
  const message = (result.optionalText('failure-message') ?? '').slice(0, maxReasonLength)
  if (message === '') return undefined
  const [failedAt] = result.has('failed-at') ? result.list('failed-at') : []
  return { message, code: rejectionCode(message), failedAt: typeof failedAt === 'number' ? failedAt : undefined }
}

function readSubmission(response: NodeResponse, isAmbiguous: boolean): SubmitResult {
  if (response.status === 200) return { type: 'accepted' }
  if (response.status !== 400) throw response.unexpected()
  const reason = response.reason() ?? ''
  return { type: 'refused', reason, code: rejectionCode(reason), isAmbiguous }
}

function encodeSimulation(group: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const writer = new Msgpack.Writer().mapHeader(2).str('allow-empty-signatures').bool(true)
  writer.str('txn-groups').arrayHeader(1).mapHeader(1).str('txns').arrayHeader(group.length)
  for (const signed of group) writer.raw(signed)
  return new Uint8Array(writer.bytes())
}

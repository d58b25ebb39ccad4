/** A client for the nodes of one Algorand network. */

import { BoundedMap, Bytes } from '@latchkey/algorand'
import { createFetchTransport, createTransport, type Transport } from '@latchkey/http-client'
import { AlgodError } from './AlgodError.js'
import * as DevnetFaucet from './DevnetFaucet.js'
import { NodePool } from './NodePool.js'
import {
  type NodeAddress,
  type NodeResponse,
  type NodeStatus,
  type PoolNode,
  type PoolRequest,
  tracedTransport,
} from './PoolNode.js'
import {
  certainty,
  encodeSimulation,
  readAccount,
  readAsset,
  readBlockTime,
  readContent,
  readHolding,
  readHoldings,
  readLease,
  readLeases,
  readParameters,
  readSimulation,
  readSubmission,
  readTransaction,
} from './readResponse.js'
import { isRejection, rejectionCode } from './rejections.js'
import type {
  Absence,
  AccountHoldings,
  AccountState,
  AlgodOptions,
  AssetInfo,
  Holding,
  LeasedTransaction,
  LeasedTransfer,
  LookupOptions,
  SimulationFailure,
  SubmitOptions,
  SubmitResult,
  SuggestedParameters,
  TransactionDetails,
  TransactionReport,
  TransactionState,
  WaitOptions,
} from './types.js'

const defaultTimeoutMs = 10_000
const defaultMaxResponseBytes = 4 * 1024 * 1024
const defaultMaxWaiting = 4_096
const defaultHedgeMs = 500
const maxCachedAssets = 4_096

/**
 * A client for the nodes of one Algorand network. A node that does not answer in time, or not like a node, is skipped
 * in favor of the next and rests for a while. Every method throws {@link AlgodError} if no node answers.
 *
 * @example
 * const algod = new Algod({ nodes: [{ url: 'http://127.0.0.1:4001' }] })
 * const { microAlgos } = await algod.account(address)
 */
export class Algod {
  /** How many nodes must report that a transaction is not on the ledger before that counts. */
  readonly quorum: number
  readonly #pool: NodePool
  readonly #transport: Transport
  /** The parameters of an asset never change on the same ledger. */
  readonly #assets = new BoundedMap<bigint, Promise<AssetInfo | undefined>>(maxCachedAssets)
  #ledger: SuggestedParameters | undefined
  #genesisHash: Uint8Array | undefined

  /** @throws AlgodError `invalid_options` */
  constructor(options: AlgodOptions) {
    this.quorum = options.quorum ?? 1
    checkQuorum(this.quorum, options.nodes)
    const transport = options.fetch === undefined ? createTransport() : createFetchTransport(options.fetch)
    this.#transport = tracedTransport(transport)
    this.#pool = new NodePool({
      nodes: options.nodes,
      transport: this.#transport,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      maxResponseBytes: options.maxResponseBytes ?? defaultMaxResponseBytes,
      maxWaiting: options.maxWaiting ?? defaultMaxWaiting,
      hedgeMs: options.hedgeMs ?? defaultHedgeMs,
    })
  }

  /** Returns the genesis, the last round and the fees of the network. */
  async parameters(): Promise<SuggestedParameters> {
    const parameters = await this.#pool.request(parametersRequest, (response, node) =>
      this.#readParameters(response, node),
    )
    this.#forgetOtherLedger(parameters)
    return parameters
  }

  /** Returns the last round. */
  lastRound(): Promise<bigint> {
    return this.#get('/v2/status', (response, node) => this.#readStatus(response, node))
  }

  /**
   * Waits for a block after the round, on a node that supports waiting. Returns the new last round, or undefined on
   * timeout.
   *
   * @throws AlgodError if no node supports waiting
   */
  async waitForBlock(round: bigint, { timeoutMs, onStart }: WaitOptions): Promise<bigint | undefined> {
    let isCancelled = false
    const request: PoolRequest = { method: 'GET', path: `/v2/status/wait-for-block-after/${round}` }
    const read = (response: NodeResponse, node: PoolNode): bigint => {
      const last = this.#readStatus(response, node)
      // Rejects a node that ends the wait without a block, which would otherwise be asked again immediately.
      if (last <= round) throw response.unexpected()
      return last
    }
    return this.#pool.wait(request, read, {
      timeoutMs,
      isCancelled: () => isCancelled,
      onStart: (cancel) => {
        onStart?.(() => {
          isCancelled = true
          cancel()
        })
      },
    })
  }

  /** Returns what the responses of the nodes have shown so far, in the given order. Sends nothing. */
  nodes(): readonly NodeStatus[] {
    return this.#pool.status()
  }

  /** Sets the network of the nodes. Reports about a transaction from a node of another network do not count. */
  setGenesis(genesisHash: Uint8Array): void {
    this.#genesisHash = genesisHash
  }

  /** Returns the state of an account without its assets. */
  account(address: string): Promise<AccountState> {
    return this.#get(`/v2/accounts/${address}?exclude=all`, (response) => readAccount(response.members(), address))
  }

  /**
   * Returns the state of an account with its assets. If it holds more than fits into one response of a node, `holdings`
   * is empty and `holdingCount` has their number.
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

  /** Returns an account's holding of an asset, or undefined if it is not opted in. */
  holding(address: string, assetId: bigint): Promise<Holding | undefined> {
    return this.#get(`/v2/accounts/${address}/assets/${assetId}`, (response) => {
      if (response.status === 404) return undefined
      const members = response.members()
      if (!members.has('asset-holding')) return undefined
      const round = members.has('round') ? members.uint('round') : undefined
      return { ...readHolding(members.object('asset-holding')), round }
    })
  }

  /** Returns the decimals and the unit of an asset, or undefined if it does not exist. Results are cached. */
  asset(assetId: bigint): Promise<AssetInfo | undefined> {
    const cached = this.#assets.get(assetId)
    if (cached !== undefined) return cached
    const request = this.#get(`/v2/assets/${assetId}`, readAsset)
    this.#assets.set(assetId, request)
    const forget = (): void => {
      if (this.#assets.get(assetId) === request) this.#assets.delete(assetId)
    }
    // A missing asset may be created later.
    request.then((asset) => asset ?? forget(), forget)
    return request
  }

  /**
   * Simulates a group. Returns undefined if it would be accepted now. Transactions without a signature count as signed;
   * those with a wrong signature do not.
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
   * Sends a signed group to the nodes, one after the other, until one accepts it or a quorum refuses it, or to all of
   * them. Does not throw: if no node answers, the result is `unanswered`. If the results differ, an acceptance counts.
   */
  async submit(group: readonly Uint8Array[], { toAll = false }: SubmitOptions = {}): Promise<SubmitResult> {
    let isAmbiguous = false
    let refusals = 0
    let result: SubmitResult | undefined
    const read = (response: NodeResponse): boolean => {
      const one = readSubmission(response)
      const isFinal = one.type === 'refused' && isRejection(one.code)
      // An acceptance is the strongest result, followed by a refusal that may stem from another node's acceptance.
      if (result === undefined || one.type === 'accepted' || (result.type === 'refused' && !isFinal)) result = one
      if (isFinal) refusals++
      return !toAll && (!isFinal || refusals >= this.quorum)
    }
    const onFailure = (error: AlgodError): void => {
      // The node may have accepted the group although its response was lost.
      isAmbiguous ||= error.mayHaveArrived
    }
    try {
      await this.#pool.each(submission(group), read, { onFailure })
      if (result!.type !== 'refused') return result!
      const isByTooFew = isRejection(result!.code) && refusals < this.quorum
      return { ...result!, isAmbiguous: isAmbiguous || isByTooFew }
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
      return { type: 'unanswered', reason: error.message, isAmbiguous }
    }
  }

  /** Returns the state of a transaction, preferably from a node that knows it. */
  async transaction(transactionId: string, options?: LookupOptions): Promise<TransactionState> {
    return (await this.lookUp(transactionId, options)).state
  }

  /** Returns the state of a transaction, and which of the queried nodes report that it is not on the ledger. */
  async lookUp(transactionId: string, { untilConfirmed = false }: LookupOptions = {}): Promise<TransactionReport> {
    let state: TransactionState = { type: 'unknown' }
    const absences: Absence[] = []
    // Read before the lookup: a transaction that is not found is in no block up to that round.
    const rounds = this.#pool.nodes.map(({ round }) => round)
    await this.#pool.each(
      lookup(transactionId),
      (response, node) => {
        const one = readTransaction(response)
        if (certainty[one.type] > certainty[state.type]) state = one
        const index = this.#pool.nodes.indexOf(node)
        const round = rounds[index]
        if (isAbsence(one) && round !== undefined) absences.push({ node: index, round })
        return certainty[one.type] >= (untilConfirmed ? certainty.confirmed : certainty.pending)
      },
      { mayHedge: true },
    )
    return { state, absences }
  }

  /**
   * Asks every node for its round and then for a transaction. Use it to decide that a transaction is not on the ledger:
   * that takes as many `absences` as the {@link quorum}, each from a node past the last valid round of the transaction.
   *
   * @throws AlgodError if no node responds
   */
  async lookUpEverywhere(transactionId: string): Promise<TransactionReport> {
    const reports = await this.#pool.all(async (send, node) => {
      const { lastRound, genesisHash } = await send(parametersRequest, (response) =>
        this.#readParameters(response, node),
      )
      const state = await send(lookup(transactionId), readTransaction)
      const isOurs = this.#genesisHash === undefined || Bytes.equal(genesisHash, this.#genesisHash)
      return { state, isOurs, absence: { node: this.#pool.nodes.indexOf(node), round: lastRound } }
    })
    if (reports.length === 0) throw new AlgodError('unreachable', 'no node responds')
    const ours = reports.filter(({ isOurs }) => isOurs)
    const states = ours.map(({ state }) => state).sort((a, b) => certainty[b.type] - certainty[a.type])
    const absent = ours.filter(({ state }) => isAbsence(state))
    return { state: states[0] ?? { type: 'unknown' }, absences: absent.map(({ absence }) => absence) }
  }

  /** Returns the state of a transaction with its content, preferably from a node that knows it. */
  async transactionDetails(transactionId: string): Promise<TransactionDetails> {
    let best: TransactionDetails = { state: { type: 'unknown' }, transaction: undefined }
    const read = (response: NodeResponse): boolean => {
      const state = readTransaction(response)
      if (certainty[state.type] > certainty[best.state.type]) {
        best = { state, transaction: readContent(response.members(), transactionId) }
      }
      return state.type === 'confirmed'
    }
    await this.#pool.each(lookup(transactionId), read, { mayHedge: true })
    return best
  }

  /**
   * Returns the time of a block, according to the clock of its proposer.
   *
   * @throws AlgodError `not_found` if no node has the block
   */
  blockTime(round: bigint): Promise<Date> {
    const path = `/v2/blocks/${round}?header-only=true`
    return this.#get(path, (response) => {
      if (response.status === 404) throw response.notFound(path)
      return readBlockTime(response.members())
    })
  }

  /**
   * Returns the ids of the transactions of a block. Nodes that no longer have the block are skipped.
   *
   * @param nodes how many nodes must have the block; the result contains the transactions that any of them has in it
   * @throws AlgodError `not_found` if no node has the block, `no_quorum` if fewer have it
   */
  async blockTransactionIds(round: bigint, nodes = 1): Promise<readonly string[]> {
    const path = `/v2/blocks/${round}/txids`
    const ids = new Set<string>()
    let count = 0
    const read = (response: NodeResponse): boolean => {
      if (response.status === 404) throw response.notFound(path)
      for (const id of response.members().list('blockTxids')) if (typeof id === 'string') ids.add(id)
      return ++count >= nodes
    }
    await this.#pool.each({ method: 'GET', path }, read, { mayHedge: true })
    if (count < nodes) throw new AlgodError('no_quorum', `${count} of ${nodes} nodes have the block of round ${round}`)
    return [...ids]
  }

  /**
   * Whether the block of a round has the transaction. Returning false takes a {@link quorum} of nodes that have the
   * block.
   *
   * @throws AlgodError `not_found` if no node has the block, `no_quorum` if too few have it
   */
  async isInBlock(transactionId: string, round: bigint): Promise<boolean> {
    return (await this.blockTransactionIds(round, this.quorum)).includes(transactionId)
  }

  /**
   * Returns the transaction of a sender with a lease in the block of a round; undefined if there is none. Returning
   * undefined takes a {@link quorum} of nodes that have the block.
   *
   * @throws AlgodError `not_found` if no node has the block, `no_quorum` if too few have it
   */
  async leaseInBlock(round: bigint, sender: string, lease: Uint8Array): Promise<LeasedTransfer | undefined> {
    const path = `/v2/blocks/${round}?format=json`
    let found: LeasedTransfer | undefined
    let count = 0
    const read = (response: NodeResponse): boolean => {
      if (response.status === 404) throw response.notFound(path)
      found ??= readLease(response.members(), sender, lease)
      return ++count >= this.quorum || found !== undefined
    }
    await this.#pool.each({ method: 'GET', path }, read, { mayHedge: true })
    if (found !== undefined || count >= this.quorum) return found
    throw new AlgodError('no_quorum', `${count} of ${this.quorum} nodes have the block of round ${round}`)
  }

  /**
   * Returns the transactions of a block that hold a lease. Nodes that no longer have the block are skipped.
   *
   * @param nodes how many nodes must have the block; the result contains the transactions that any of them has in it
   * @throws AlgodError `not_found` if no node has the block, `no_quorum` if fewer have it
   */
  async leasesInBlock(round: bigint, nodes = 1): Promise<readonly LeasedTransaction[]> {
    const path = `/v2/blocks/${round}?format=json`
    const found = new Map<string, LeasedTransaction>()
    let count = 0
    const read = (response: NodeResponse): boolean => {
      if (response.status === 404) throw response.notFound(path)
      // The ledger takes a lease of a sender once in a block.
      for (const one of readLeases(response.members())) found.set(`${one.sender} ${one.lease}`, one)
      return ++count >= nodes
    }
    await this.#pool.each({ method: 'GET', path }, read, { mayHedge: true })
    if (count < nodes) throw new AlgodError('no_quorum', `${count} of ${nodes} nodes have the block of round ${round}`)
    return [...found.values()]
  }

  /** Returns the information of an embedded devnet, or undefined for any other node. */
  devnet(): Promise<DevnetFaucet.DevnetInfo | undefined> {
    return this.#get(DevnetFaucet.infoPath, DevnetFaucet.readInfo)
  }

  /**
   * Funds an account from the faucet of the embedded devnet, opting it in to the asset if needed. No other node has
   * this path.
   *
   * @throws AlgodError `rejected` with the devnet's reason
   */
  fund(funding: DevnetFaucet.Funding): Promise<DevnetFaucet.Funded> {
    const body = DevnetFaucet.encode(funding)
    const request = { method: 'POST', path: DevnetFaucet.fundPath, body, contentType: 'application/json' } as const
    return this.#pool.request({ ...request, once: true }, DevnetFaucet.readFunded)
  }

  /** Closes idle connections, which would otherwise time out. */
  async close(): Promise<void> {
    this.#transport.close()
  }

  #get<T>(path: string, read: (response: NodeResponse, node: PoolNode) => T): Promise<T> {
    return this.#pool.request({ method: 'GET', path }, read)
  }

  #readParameters(response: NodeResponse, node: PoolNode): SuggestedParameters {
    const parameters = readParameters(response.members())
    this.#pool.observeRound(node, parameters.lastRound)
    return parameters
  }

  #readStatus(response: NodeResponse, node: PoolNode): bigint {
    const round = BigInt(response.members().integer('last-round'))
    this.#pool.observeRound(node, round)
    return round
  }

  /** On another ledger, or one that was reset like a development network, asset ids may refer to different assets. */
  #forgetOtherLedger(now: SuggestedParameters): void {
    const before = this.#ledger
    this.#ledger = now
    if (before === undefined) return
    const isSame = Bytes.equal(before.genesisHash, now.genesisHash) && before.lastRound <= now.lastRound
    if (!isSame) this.#assets.clear()
  }
}

const parametersRequest: PoolRequest = { method: 'GET', path: '/v2/transactions/params' }

function lookup(transactionId: string): PoolRequest {
  return { method: 'GET', path: `/v2/transactions/pending/${transactionId}` }
}

function submission(group: readonly Uint8Array[]): PoolRequest {
  const body = new Uint8Array(Bytes.concat(group))
  // Never repeated: if the first attempt was accepted, the repeat would look like a refusal.
  return { method: 'POST', path: '/v2/transactions', body, contentType: 'application/x-binary', once: true }
}

/** A transaction that a node dropped is in none of its blocks. */
function isAbsence({ type }: TransactionState): boolean {
  return type === 'unknown' || type === 'dropped'
}

/** The same node twice does not form a quorum. */
function checkQuorum(quorum: number, nodes: readonly NodeAddress[]): void {
  if (!Number.isSafeInteger(quorum) || quorum < 1) {
    throw new AlgodError('invalid_options', 'the quorum must be a whole number above 0')
  }
  const different = new Set(nodes.map(({ url }) => (URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : url)))
    .size
  if (quorum === 1 || quorum <= different) return
  throw new AlgodError(
    'invalid_options',
    `a quorum of ${quorum} requires as many different nodes, but ${different} are given`,
  )
}

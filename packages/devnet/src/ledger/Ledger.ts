/**
 * The chain of blocks and the state after it. Groups are accepted into an open block, which is an overlay on the state;
 * closing it makes them part of the ledger. `DevnetNode` decides when that happens.
 */
import { BoundedMap, Bytes, Submission } from '@latchkey/algorand'
import { DevnetError } from '../errors.js'
import * as Block from './Block.js'
import * as Consensus from './Consensus.js'
import * as Evaluate from './Evaluate.js'
import * as Faucet from './Faucet.js'
import type { Genesis } from './Genesis.js'
import { History, type HistoryLimits } from './History.js'
import * as IncomingTransaction from './IncomingTransaction.js'
import type { ClockState, FundChange, LedgerChange, Snapshot } from './LedgerChange.js'
import { LedgerError } from './LedgerError.js'
import { Lifetimes } from './Lifetimes.js'
import * as MapKey from './MapKey.js'
import type { ProgramChain } from './programs/ApplicationHost.js'
import { chainReader } from './programs/chainReader.js'
import { outcomeDigest } from './programs/outcomeDigest.js'
import * as Simulation from './Simulation.js'
import { OnlineStake, State } from './State.js'
import { changesOf, RecentDeltas } from './StateDelta.js'
import { StateOverlay } from './StateOverlay.js'
import { StateProofVoters } from './StateProofVoters.js'

export type LedgerOptions = {
  genesis: Genesis
  nowMs?: (() => number) | undefined
  history?: HistoryLimits | undefined
  /** Whether to record when accounts, assets and holdings were created and closed. @default false */
  tracksLifetimes?: boolean | undefined
}

export const defaultHistory: HistoryLimits = { blocks: 10_000, bytes: 256 * 1024 * 1024 }

type PendingGroup = {
  readonly bytes: Uint8Array
  /** The bytes in the block, with the transactions that applications made: a call of 200 bytes can make 5 MB of them. */
  readonly size: number
  readonly overlay: StateOverlay
  readonly applied: readonly Block.Applied[]
  /** Returns the digest of the outcome of application calls, or undefined if there are none. */
  readonly digest: () => Uint8Array | undefined
}

/** A transaction is in a block, pending, or dropped after it was accepted. */
export type TransactionStatus =
  | { readonly type: 'confirmed'; readonly round: bigint; readonly transaction: Block.BlockTransaction }
  | { readonly type: 'pending'; readonly signed: Uint8Array }
  | { readonly type: 'dropped'; readonly signed: Uint8Array; readonly reason: string }

/** Called after a block with its decoded transactions, and after everything was replaced. */
export type LedgerObserver = {
  readonly onBlock: (block: Block.Block, applied: readonly Block.Applied[]) => void
  readonly onRestore: () => void
}

const maxDropped = 1_000

export class Ledger {
  readonly genesis: Genesis
  readonly state = new State(Consensus.transactionCounterAtGenesis)
  /** The changes of the last blocks. Funding is not part of a block. */
  readonly deltas = new RecentDeltas()
  readonly onlineStake = new OnlineStake()
  readonly clock: Clock
  readonly lifetimes: Lifetimes | undefined
  #journal: ((change: LedgerChange) => void) | undefined
  readonly #history: History
  readonly #initial: Snapshot
  readonly #voters = new StateProofVoters()
  readonly #listeners = new Set<() => void>()
  readonly #observers: LedgerObserver[] = []
  readonly #dropped = new BoundedMap<MapKey.MapKey, TransactionStatus & { type: 'dropped' }>(maxDropped)
  #open = new StateOverlay(this.state)
  #pending: PendingGroup[] = []
  #pendingBytes = 0
  readonly #pendingByKey = new Map<MapKey.MapKey, Block.Applied>()
  readonly #chainReader: ProgramChain

  constructor({ genesis, nowMs = Date.now, history = defaultHistory, tracksLifetimes = false }: LedgerOptions) {
    this.genesis = genesis
    this.clock = new Clock(nowMs)
    this.lifetimes = tracksLifetimes ? new Lifetimes() : undefined
    const changes = allocate(genesis, this.state)
    this.lifetimes?.record({ changes, state: this.state, round: 0n })
    changes.commit(this.state)
    this.#history = new History(history, firstBlock(genesis))
    this.#chainReader = chainReader({
      chain: genesis.chain,
      history: this.#history,
      onlineStake: this.onlineStake,
      state: this.state,
    })
    this.onlineStake.record(0n, this.state.totals.Online.microAlgos)
    this.#initial = this.snapshot()
  }

  /** Calls `journal` with every change from now on, before it happens. If it throws, the change does not happen. */
  useJournal(journal: (change: LedgerChange) => void): void {
    this.#journal = journal
  }

  get last(): Block.Block {
    return this.#history.last
  }

  /** Number of transactions in blocks, since genesis. */
  get confirmedCount(): bigint {
    return this.state.transactionCount() - Consensus.transactionCounterAtGenesis
  }

  block(round: bigint): Block.Block | undefined {
    return this.#history.block(round)
  }

  /** The round of the oldest kept block. */
  get oldestRound(): bigint {
    return this.#history.oldestRound
  }

  /** Whether all blocks are kept. */
  get isArchival(): boolean {
    return this.#history.isArchival
  }

  /** Returns the round of a transaction in any kept block. */
  roundOf(key: MapKey.MapKey): bigint | undefined {
    return this.#history.roundOf(key)
  }

  /** Adds an observer for the life of the ledger. */
  observe(observer: LedgerObserver): void {
    this.#observers.push(observer)
  }

  /** Accepts a group into the open block, or throws a LedgerError and changes nothing. */
  submit(group: readonly Submission.Decoded[]): IncomingTransaction.IncomingTransaction[] {
    const transactions = IncomingTransaction.prepare(group, this.genesis.chain)
    IncomingTransaction.checkSignatures(transactions, { chain: this.#chainReader })
    const evaluated = this.#evaluate(transactions)
    if (this.#pendingBytes + evaluated.size > Consensus.maxBlockTransactionBytes) throw full()
    this.#journal?.({ type: 'group', bytes: evaluated.bytes, digest: evaluated.digest() })
    this.#accept(evaluated)
    return transactions
  }

  /** Closes the open block, which may be empty. */
  closeBlock(): Block.Block {
    const { timestamp, openTimestamp, state } = this.clock.next(this.last.timestamp)
    this.#journal?.({ type: 'block', timestamp })
    this.clock.state = state
    return this.#close(timestamp, openTimestamp)
  }

  simulate(group: readonly Submission.Decoded[], options: Simulation.SimulationOptions): Simulation.SimulationResult {
    const { chain } = this.genesis
    return Simulation.run(group, options, {
      chain,
      round: this.last.round + 1n,
      state: this.state,
      programs: this.#chainReader,
    })
  }

  /** The chain as programs read it. */
  get programs(): ProgramChain {
    return this.#chainReader
  }

  /** Funds an account from the faucet. Throws a LedgerError if that is not possible. */
  fund(change: FundChange): void {
    const overlay = this.#evaluateFunding(change)
    this.#journal?.(change)
    this.#commitFunding(overlay)
  }

  setOffset(offsetSeconds: bigint): void {
    if (offsetSeconds < 0n || offsetSeconds > latestTimestamp) {
      throw new DevnetError('invalid_time', `the offset must be from 0 to ${latestTimestamp} seconds`)
    }
    this.#setClock({ ...this.clock.state, offsetSeconds })
  }

  /** Sets the timestamp of the next block, from which the clock continues. Time does not go back. */
  setTime(timestamp: bigint): void {
    if (timestamp < this.last.timestamp || timestamp > latestTimestamp) {
      throw new DevnetError(
        'invalid_time',
        `the time must be in seconds, and not before that of the last block, ${this.last.timestamp}`,
      )
    }
    this.#setClock(this.clock.stateAt(timestamp))
  }

  #setClock(clock: ClockState): void {
    this.#journal?.({ type: 'clock', clock })
    this.clock.state = clock
  }

  snapshot(): Snapshot {
    return {
      state: this.state.copy(),
      blocks: this.#history.blocks(),
      pending: this.pendingGroups(),
      clock: this.clock.state,
      lifetimes: this.lifetimes?.copy(),
    }
  }

  restore(snapshot: Snapshot): void {
    this.#journal?.({ type: 'restore', snapshot })
    this.#restore(snapshot)
  }

  reset(): void {
    this.#journal?.({ type: 'reset' })
    this.#restore({ ...this.#initial, clock: initialClock })
  }

  /** Replays a change from a journal. Signatures were verified when it was written, and are not verified again. */
  replay(change: LedgerChange): void {
    switch (change.type) {
      case 'group':
        this.#accept(this.#replayed(change.bytes, change.digest))
        return
      case 'block':
        this.clock.state = this.clock.next(this.last.timestamp).state
        this.#close(change.timestamp)
        return
      case 'clock':
        this.clock.state = change.clock
        return
      case 'fund':
        this.#commitFunding(this.#evaluateFunding(change))
        return
      case 'restore':
        this.#restore(change.snapshot)
        return
      case 'reset':
        this.#restore({ ...this.#initial, clock: initialClock })
    }
  }

  /** The signed transactions of each pending group. */
  pendingGroups(): Uint8Array[] {
    return this.#pending.map(({ bytes }) => bytes)
  }

  pendingTransactions(): Block.Applied[] {
    return this.#pending.flatMap(({ applied }) => applied)
  }

  findTransaction(key: MapKey.MapKey): TransactionStatus | undefined {
    const found = this.#history.find(key)
    if (found !== undefined) return { type: 'confirmed', round: found.block.round, transaction: found.transaction }
    const pending = this.#pendingByKey.get(key)
    if (pending !== undefined) return { type: 'pending', signed: pending.transaction.decoded.bytes }
    return this.#dropped.get(key)
  }

  /** Calls the listener after every block and every restore. Returns a function that unsubscribes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #prepared(bytes: Uint8Array): IncomingTransaction.IncomingTransaction[] {
    return IncomingTransaction.prepare(Submission.decodeAll(bytes, Consensus.maxGroupSize), this.genesis.chain)
  }

  /** Throws a LedgerError; changes nothing. */
  #evaluate(transactions: readonly IncomingTransaction.IncomingTransaction[]): PendingGroup {
    const bytes = Bytes.concat(transactions.map(({ decoded }) => decoded.bytes)).slice()
    if (this.#pendingBytes + bytes.length > Consensus.maxBlockTransactionBytes) throw full()
    const overlay = new StateOverlay(this.#open)
    const { chain } = this.genesis
    const round = this.last.round + 1n
    Evaluate.checkNotExpired(transactions, round)
    const limits = { showsOpcodes: true }
    const outcomes = Evaluate.group(transactions, { chain, round, overlay, programs: this.#chainReader, limits })
    const applied = transactions.map((transaction, index) => ({ transaction, outcome: outcomes[index]! }))
    const hasCalls = transactions.some(({ txn }) => txn.type === 'appl')
    const digest = () => (hasCalls ? outcomeDigest(applied, overlay) : undefined)
    const size = hasCalls ? outcomes.reduce((sum, { delta }) => sum + (delta?.length ?? 0), bytes.length) : bytes.length
    return { bytes, size, overlay, applied, digest }
  }

  /** Evaluates a recorded group. Throws a DevnetError that names the round if it has another outcome now. */
  #replayed(bytes: Uint8Array, digest: Uint8Array | undefined): PendingGroup {
    const changed = (what: string, cause?: unknown): DevnetError =>
      new DevnetError('outcome_changed', `round ${this.last.round + 1n}: ${what}`, cause)
    let group: PendingGroup
    try {
      group = this.#evaluate(this.#prepared(bytes))
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error
      const { id } = Submission.decodeFirst(bytes)
      throw changed(`the group of ${id} was accepted when it was recorded, and is refused now: ${error.message}`, error)
    }
    const own = digest === undefined ? undefined : group.digest()
    if (digest === undefined || (own !== undefined && Bytes.equal(digest, own))) return group
    throw changed(
      `the application calls of the group of ${group.applied[0]!.transaction.decoded.id} have another outcome now`,
    )
  }

  #accept(group: PendingGroup): void {
    group.overlay.commit(this.#open)
    this.#pending.push(group)
    this.#pendingBytes += group.size
    for (const one of group.applied) this.#pendingByKey.set(one.transaction.key, one)
  }

  #evaluateFunding(change: FundChange): StateOverlay {
    return Faucet.evaluate(change, MapKey.fromAddress(this.genesis.faucet.address), this.state)
  }

  #commitFunding(overlay: StateOverlay): void {
    this.lifetimes?.record({ changes: overlay, state: this.state, round: this.last.round })
    overlay.commit(this.state)
    this.#reacceptPending(this.#pending.map(({ applied }) => applied.map(({ transaction }) => transaction)))
  }

  #close(timestamp: bigint, openTimestamp = timestamp): Block.Block {
    const applied = this.pendingTransactions()
    this.lifetimes?.record({ changes: this.#open, state: this.state, round: this.last.round + 1n, applied })
    const changes = changesOf(this.#open, this.state)
    const previousTimestamp = this.last.timestamp
    this.#open.commit(this.state)
    const transactionCount = this.state.transactionCount()
    const { chain } = this.genesis
    const voters = this.#voters.committedIn(this.last.round + 1n)
    const feesCollected = this.#pending.reduce((sum, { overlay }) => sum + overlay.feesCollected, 0n)
    const contents = { timestamp, transactionCount, feesCollected, applied, voters }
    const block = Block.make({ chain, previous: this.last, ...contents })
    this.deltas.add(block.round, { ...changes, openTimestamp, previousTimestamp, totals: this.state.totals })
    this.onlineStake.record(block.round, this.state.totals.Online.microAlgos)
    this.#voters.record(block.round, this.state)
    this.state.endRound(block.round)
    this.#history.add(block)
    this.lifetimes?.forgetBefore(this.oldestRound, this.state)
    this.#startBlock()
    for (const { onBlock } of this.#observers) onBlock(block, applied)
    this.#notifyListeners()
    return block
  }

  #restore({ state, blocks, pending, clock, lifetimes }: Snapshot): void {
    const groups = pending.map((bytes) => this.#prepared(bytes))
    this.state.restore(state)
    this.#history.restore(blocks)
    this.deltas.clear()
    this.onlineStake.restart(this.last.round, this.state.totals.Online.microAlgos)
    this.#voters.restart(this.last.round, this.state)
    this.clock.state = clock
    this.#dropped.clear()
    this.lifetimes?.restore(lifetimes, this.state)
    this.#reacceptPending(groups)
    for (const { onRestore } of this.#observers) onRestore()
    this.#notifyListeners()
  }

  /** Evaluates pending groups again on a changed state. Groups that now fail are dropped, with the reason. */
  #reacceptPending(groups: readonly (readonly IncomingTransaction.IncomingTransaction[])[]): void {
    this.#startBlock()
    for (const transactions of groups) {
      try {
        this.#accept(this.#evaluate(transactions))
      } catch (error) {
        if (!(error instanceof LedgerError)) throw error
        for (const transaction of transactions) this.#drop(transaction, error.message)
      }
    }
  }

  #drop({ key, decoded }: IncomingTransaction.IncomingTransaction, reason: string): void {
    this.#dropped.set(key, { type: 'dropped', signed: decoded.bytes.slice(), reason })
  }

  #startBlock(): void {
    this.#open = new StateOverlay(this.state)
    this.#pending = []
    this.#pendingBytes = 0
    this.#pendingByKey.clear()
  }

  #notifyListeners(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

function full(): LedgerError {
  const reason = 'TransactionPool.checkPendingQueueSize: transaction pool have reached capacity'
  return new LedgerError('pool_full', reason, { hint: 'the open block is full; mine it' })
}

function firstBlock({ chain }: Genesis): Block.Block {
  return Block.make({
    chain,
    previous: undefined,
    timestamp: 0n,
    transactionCount: Consensus.transactionCounterAtGenesis,
    feesCollected: 0n,
    applied: [],
  })
}

/** Returns the changes that turn an empty state into that of the genesis. */
function allocate({ allocations, assets, accounts, faucet, assetAmount }: Genesis, state: State): StateOverlay {
  const overlay = new StateOverlay(state)
  for (const { address, microAlgos, status, participation } of allocations) {
    const key = MapKey.fromAddress(address)
    overlay.putAccount(key, { ...overlay.account(key), microAlgos, status, participation })
  }
  const issuer = MapKey.fromAddress(faucet.address)
  for (const [assetId, asset] of assets) {
    overlay.putAsset(assetId, asset)
    overlay.putHolding(issuer, assetId, { amount: asset.total - assetAmount * BigInt(accounts.length), frozen: false })
    for (const { address } of accounts) {
      overlay.putHolding(MapKey.fromAddress(address), assetId, { amount: assetAmount, frozen: false })
    }
  }
  return overlay
}

/** Timestamps are signed 64-bit integers on a node. */
export const latestTimestamp = 2n ** 63n - 1n

function limited(timestamp: bigint): bigint {
  return timestamp > latestTimestamp ? latestTimestamp : timestamp
}

export const initialClock: ClockState = { offsetSeconds: undefined, aheadSeconds: 0n, nextTimestamp: undefined }

/**
 * Block timestamps in seconds, by the rules of a node in dev mode: the machine's clock, never before the last block and
 * at most 25 s after it. Once an offset is set, always that many seconds after it.
 */
export class Clock {
  readonly #nowMs: () => number
  state: ClockState = initialClock

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  seconds(): bigint {
    return BigInt(Math.floor(this.#nowMs() / 1000)) + this.state.aheadSeconds
  }

  /**
   * Returns the timestamp of the block after one with the timestamp `previous`, the one that it has while it is open,
   * and the clock after that block. As on a node, an offset applies to the closed block only.
   */
  next(previous: bigint): { timestamp: bigint; openTimestamp: bigint; state: ClockState } {
    const { nextTimestamp, offsetSeconds } = this.state
    const state = { ...this.state, nextTimestamp: undefined }
    const openTimestamp = nextTimestamp ?? this.#following(previous)
    const timestamp =
      nextTimestamp === undefined && offsetSeconds !== undefined ? previous + offsetSeconds : openTimestamp
    return { timestamp: limited(timestamp), openTimestamp: limited(openTimestamp), state }
  }

  #following(previous: bigint): bigint {
    const now = this.seconds()
    if (previous === 0n) return now
    const latest = previous + Consensus.maxTimestampStepSeconds
    return now < previous ? previous : now > latest ? latest : now
  }

  /** Returns the clock with `timestamp` as the time of the next block, from which it continues. */
  stateAt(timestamp: bigint): ClockState {
    const aheadSeconds = timestamp - (this.seconds() - this.state.aheadSeconds)
    return { offsetSeconds: undefined, aheadSeconds, nextTimestamp: timestamp }
  }
}

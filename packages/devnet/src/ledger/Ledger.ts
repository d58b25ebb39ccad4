/**
 * The chain of blocks and the state after it. Groups are taken into an open block, which a layer on top of the state
 * stands for; closing it makes them part of the ledger. When that happens is for others to decide.
 */
import { Bytes, Submission } from '@latchkey/algorand'
import * as Block from './Block.js'
import * as Candidate from './Candidate.js'
import type { Change, Gift } from './Change.js'
import { Clock, type ClockState, initial as initialClock, latestTimestamp } from './Clock.js'
import * as Consensus from './Consensus.js'
import * as Evaluate from './Evaluate.js'
import type { Genesis } from './Genesis.js'
import * as Gifts from './Gifts.js'
import { History, type HistoryLimits } from './History.js'
import * as Key from './Key.js'
import * as Simulation from './Simulation.js'
import type { Snapshot } from './Snapshot.js'
import { State } from './State.js'
import { StateOverlay } from './StateOverlay.js'
import { TransactionRejectedError } from './TransactionRejectedError.js'

export type LedgerOptions = {
  genesis: Genesis
  nowMs?: (() => number) | undefined
  history?: HistoryLimits | undefined
  /** Told every change before it happens. If it throws, the change does not happen. */
  journal?: ((change: Change) => void) | undefined
}

export const defaultHistory: HistoryLimits = { blocks: 10_000, bytes: 256 * 1024 * 1024 }

type PendingGroup = {
  readonly bytes: Uint8Array
  readonly layer: StateOverlay
  readonly applied: readonly Block.Applied[]
}

/** What is known of a transaction: in a block, waiting for one, or dropped although it had been accepted. */
export type Known =
  | { readonly type: 'confirmed'; readonly round: bigint; readonly member: Block.Member }
  | { readonly type: 'pending'; readonly signed: Uint8Array }
  | { readonly type: 'dropped'; readonly signed: Uint8Array; readonly reason: string }

const maxDropped = 1_000

export class Ledger {
  readonly genesis: Genesis
  readonly state = new State(Consensus.transactionCounterAtGenesis)
  readonly clock: Clock
  readonly #journal: (change: Change) => void
  readonly #history: History
  readonly #beginning: Snapshot
  readonly #listeners = new Set<() => void>()
  readonly #dropped = new Map<Key.Key, Known & { type: 'dropped' }>()
  #open = new StateOverlay(this.state)
  #pending: PendingGroup[] = []
  #pendingBytes = 0
  readonly #waiting = new Map<Key.Key, Block.Applied>()

  constructor({ genesis, nowMs = Date.now, history = defaultHistory, journal = () => {} }: LedgerOptions) {
    this.genesis = genesis
    this.clock = new Clock(nowMs)
    this.#journal = journal
    allocate(genesis, this.state)
    this.#history = new History(history, firstBlock(genesis))
    this.#beginning = this.moment()
  }

  get last(): Block.Block {
    return this.#history.last
  }

  /** Transactions in blocks, since the ledger's beginning. */
  get confirmedCount(): bigint {
    return this.state.transactionCount() - Consensus.transactionCounterAtGenesis
  }

  block(round: bigint): Block.Block | undefined {
    return this.#history.block(round)
  }

  /** Takes a group into the open block, or throws a Rejection and changes nothing. */
  submit(group: readonly Submission.Submitted[]): Candidate.Candidate[] {
    const candidates = Candidate.prepare(group, this.genesis.chain)
    Candidate.checkSignatures(candidates, false)
    const evaluated = this.#evaluate(candidates)
    this.#journal({ type: 'group', bytes: evaluated.bytes })
    this.#accept(evaluated)
    return candidates
  }

  /** Ends the open block, whatever is in it. */
  closeBlock(): Block.Block {
    const { timestamp, state } = this.clock.next(this.last.timestamp)
    this.#journal({ type: 'block', timestamp })
    this.clock.state = state
    return this.#close(timestamp)
  }

  simulate(group: readonly Submission.Submitted[], options: Simulation.SimulationOptions): Simulation.SimulationResult {
    const { chain } = this.genesis
    return Simulation.run(group, options, { chain, round: this.last.round + 1n, store: this.state })
  }

  /** Throws a Refusal if it cannot be given. */
  give(gift: Gift): void {
    const changes = this.#wrap(gift)
    this.#journal(gift)
    this.#hand(changes)
  }

  setOffset(offsetSeconds: bigint): void {
    if (offsetSeconds < 0n || offsetSeconds > latestTimestamp) throw new RangeError('the offset is out of range')
    this.#setClock({ ...this.clock.state, offsetSeconds })
  }

  /** The next block is stamped with this time, and the clock runs on from there. Time does not go back. */
  setTime(timestamp: bigint): void {
    if (timestamp < this.last.timestamp || timestamp > latestTimestamp) {
      throw new RangeError(`the time is in seconds, and not before that of the last block, ${this.last.timestamp}`)
    }
    this.#setClock(this.clock.stateAt(timestamp))
  }

  #setClock(clock: ClockState): void {
    this.#journal({ type: 'clock', clock })
    this.clock.state = clock
  }

  moment(): Snapshot {
    return {
      state: this.state.copy(),
      blocks: this.#history.blocks(),
      pending: this.pendingGroups(),
      clock: this.clock.state,
    }
  }

  restore(moment: Snapshot): void {
    this.#journal({ type: 'moment', moment })
    this.#restore(moment)
  }

  reset(): void {
    this.#journal({ type: 'reset' })
    this.#restore({ ...this.#beginning, clock: initialClock })
  }

  /** A change that was told to a journal before. Signatures were verified then, and are not again. */
  replay(change: Change): void {
    switch (change.type) {
      case 'group':
        this.#accept(this.#evaluate(this.#prepared(change.bytes)))
        return
      case 'block':
        this.clock.state = this.clock.next(this.last.timestamp).state
        this.#close(change.timestamp)
        return
      case 'clock':
        this.clock.state = change.clock
        return
      case 'gift':
        this.#hand(this.#wrap(change))
        return
      case 'moment':
        this.#restore(change.moment)
        return
      case 'reset':
        this.#restore({ ...this.#beginning, clock: initialClock })
    }
  }

  /** Signed transactions of the groups that wait for a block, group by group. */
  pendingGroups(): Uint8Array[] {
    return this.#pending.map(({ bytes }) => bytes)
  }

  pendingTransactions(): Block.Applied[] {
    return this.#pending.flatMap(({ applied }) => applied)
  }

  find(key: Key.Key): Known | undefined {
    const found = this.#history.find(key)
    if (found !== undefined) return { type: 'confirmed', round: found.block.round, member: found.member }
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) return { type: 'pending', signed: waiting.candidate.signedBytes }
    return this.#dropped.get(key)
  }

  /** Calls back after every block and after every jump, until told not to. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #prepared(bytes: Uint8Array): Candidate.Candidate[] {
    return Candidate.prepare(Submission.decodeAll(bytes, Consensus.maxGroupSize), this.genesis.chain)
  }

  /** Throws a Rejection; nothing has happened yet. */
  #evaluate(candidates: readonly Candidate.Candidate[]): PendingGroup {
    const bytes = Bytes.concat(candidates.map(({ signedBytes }) => signedBytes)).slice()
    if (this.#pendingBytes + bytes.length > Consensus.maxBlockTransactionBytes) throw full()
    const layer = new StateOverlay(this.#open)
    const { chain } = this.genesis
    const round = this.last.round + 1n
    Evaluate.checkNotOver(candidates, round)
    const outcomes = Evaluate.group(candidates, { chain, round, layer })
    const applied = candidates.map((candidate, index) => ({ candidate, outcome: outcomes[index]! }))
    return { bytes, layer, applied }
  }

  #accept(group: PendingGroup): void {
    group.layer.commit(this.#open)
    this.#pending.push(group)
    this.#pendingBytes += group.bytes.length
    for (const one of group.applied) this.#waiting.set(one.candidate.key, one)
  }

  #wrap(gift: Gift): StateOverlay {
    return Gifts.evaluate(gift, Key.fromAddress(this.genesis.dispenser.address), this.state)
  }

  #hand(changes: StateOverlay): void {
    changes.commit(this.state)
    this.#takeAgain(this.#pending.map(({ applied }) => applied.map(({ candidate }) => candidate)))
  }

  #close(timestamp: bigint): Block.Block {
    const applied = this.pendingTransactions()
    this.#open.commit(this.state)
    const transactionCount = this.state.transactionCount()
    const { chain } = this.genesis
    const block = Block.make({ chain, previous: this.last, timestamp, transactionCount, applied })
    this.state.endRound(block.round)
    this.#history.add(block)
    this.#startBlock()
    this.#tell()
    return block
  }

  #restore({ state, blocks, pending, clock }: Snapshot): void {
    const groups = pending.map((bytes) => this.#prepared(bytes))
    this.state.restore(state)
    this.#history.restore(blocks)
    this.clock.state = clock
    this.#dropped.clear()
    this.#takeAgain(groups)
    this.#tell()
  }

  /** Into a block that is open on another state than before. What does not fit there is dropped, with the reason. */
  #takeAgain(groups: readonly (readonly Candidate.Candidate[])[]): void {
    this.#startBlock()
    for (const candidates of groups) {
      try {
        this.#accept(this.#evaluate(candidates))
      } catch (error) {
        if (!(error instanceof TransactionRejectedError)) throw error
        for (const candidate of candidates) this.#drop(candidate, error.reason)
      }
    }
  }

  #drop({ key, signedBytes }: Candidate.Candidate, reason: string): void {
    this.#dropped.set(key, { type: 'dropped', signed: signedBytes.slice(), reason })
    if (this.#dropped.size > maxDropped) this.#dropped.delete(this.#dropped.keys().next().value!)
  }

  #startBlock(): void {
    this.#open = new StateOverlay(this.state)
    this.#pending = []
    this.#pendingBytes = 0
    this.#waiting.clear()
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

function full(): TransactionRejectedError {
  const reason = 'TransactionPool.checkPendingQueueSize: transaction pool have reached capacity'
  return new TransactionRejectedError({ stage: 'capacity', reason, hint: 'the open block is full; mine it' })
}

function firstBlock({ chain }: Genesis): Block.Block {
  return Block.make({
    chain,
    previous: undefined,
    timestamp: 0n,
    transactionCount: Consensus.transactionCounterAtGenesis,
    applied: [],
  })
}

function allocate({ allocations, assets, accounts, dispenser, assetAmount }: Genesis, state: State): void {
  const layer = new StateOverlay(state)
  for (const { address, microAlgos, status } of allocations) {
    const key = Key.fromAddress(address)
    layer.putAccount(key, {
      ...layer.account(key),
      microAlgos,
      status: status === 2 ? 'Not Participating' : 'Offline',
    })
  }
  const issuer = Key.fromAddress(dispenser.address)
  for (const [assetId, asset] of assets) {
    layer.putAsset(assetId, asset)
    layer.putHolding(issuer, assetId, { amount: asset.total - assetAmount * BigInt(accounts.length), frozen: false })
    for (const { address } of accounts) {
      layer.putHolding(Key.fromAddress(address), assetId, { amount: assetAmount, frozen: false })
    }
  }
  layer.commit(state)
}

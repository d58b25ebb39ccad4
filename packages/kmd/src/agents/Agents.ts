/** Manages the daemon's agents: their identity, permissions and spending. */
import { timingSafeEqual } from 'node:crypto'
import {
  Address,
  Bytes,
  Program,
  SignedTransaction,
  Transaction,
  UptoProgram,
  type UptoTerms,
} from '@latchkey/algorand'
import type { LedgerClient } from '../api/NodeClient.js'
import type { Actor, EventName } from '../audit/AuditChain.js'
import type { AuditLog } from '../audit/AuditLog.js'
import { comparableLabel } from '../contacts/Contacts.js'
import { KmdError } from '../errors.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import * as Secret from '../wallet/Secret.js'
import type { Agent, AgentState } from './Agent.js'
import { AgentStore, hasEnded, type StoredAgent, sealKey, signWithSealedKey, WalletKeys } from './AgentStore.js'
import type {
  AgentSession,
  AgentsApi,
  Claim,
  GrantedKey,
  LimitUse,
  NewAgent,
  NewToken,
  RulesChange,
} from './AgentsApi.js'
import * as AgentToken from './AgentToken.js'
import type { ApprovalGate } from './ApprovalGate.js'
import * as AuditEvents from './auditEvents.js'
import { checkExpiry, checkKeys, checkName, checkRules } from './checkAgent.js'
import { addressText, type Decision, isRefusal, readFacts, uptoFacts } from './Decision.js'
import { Rounds, SpendingClock } from './Rounds.js'
import { Spending, type SpendingRequest } from './Spending.js'
import { Suspension } from './Suspension.js'

export type * from './AgentsApi.js'

export type AgentsOptions = {
  database: StateDatabase
  audit: AuditLog
  /** The wallets that must hold the agents' keys. @default nothing is checked */
  wallets?: ConstructorParameters<typeof WalletKeys>[0] | undefined
  /** Milliseconds since 1970. */
  now?: () => number
  /** A monotonic clock, in milliseconds. */
  elapsed?: () => number
  /** The maximum number of agents that have not ended. @default 10000 */
  mostAgents?: number
}

const owner: Actor = { type: 'owner' }
const daemon: Actor = { type: 'daemon' }

export class Agents implements AgentsApi {
  readonly #database: StateDatabase
  readonly #audit: AuditLog
  readonly #clock: SpendingClock
  readonly #store: AgentStore
  readonly #suspension: Suspension
  readonly #mostAgents: number
  readonly #walletKeys: WalletKeys | undefined
  readonly #rounds: Rounds
  #approvals: ApprovalGate | undefined
  readonly #endListeners: ((agentId: string) => void)[] = []
  /** Numbers of ended agents whose reservations are deleted. */
  readonly #pruned = new Set<number>()
  /** The agents' reservations. */
  readonly spending: Spending

  constructor({ database, audit, wallets, now, elapsed, mostAgents = 10_000 }: AgentsOptions) {
    this.#walletKeys = wallets && new WalletKeys(wallets)
    this.#database = database
    this.#audit = audit
    this.#mostAgents = mostAgents
    this.#clock = new SpendingClock({ database, ...(now && { now }), ...(elapsed && { elapsed }) })
    this.#store = new AgentStore(database)
    this.#rounds = new Rounds({ database, clock: this.#clock })
    this.spending = new Spending({ database, audit, clock: this.#clock, rounds: this.#rounds })
    const shown = (stored: StoredAgent): Agent => this.#shown(stored)
    this.#suspension = new Suspension({ database, audit, store: this.#store, spending: this.spending, shown })
    const forget = (): void => this.#store.forget()
    database.listen({ onRollback: forget, onReopen: forget })
  }

  /** Sets the gate that decides transactions needing the owner's approval. @default such transactions are refused */
  useApprovals(gate: ApprovalGate): void {
    this.#approvals = gate
    this.spending.useApprovals(gate)
  }

  /** Sets the node that reports its network's rounds; undefined if there is none. @default none */
  useNode(node: () => LedgerClient | undefined): void {
    this.#rounds.useNode(node)
  }

  /** Records a network's last round, as reported by a node. */
  async noteRound(node: LedgerClient, network: string, round: bigint): Promise<void> {
    await this.#rounds.note(node, network, round)
    await this.#approvals?.noteRound(network, round)
  }

  /** Asks the node for the round that `test` needs, if it is unknown. */
  async prepareTest(transaction: Transaction.Canonical): Promise<void> {
    const facts = readFacts(transaction.bytes)
    if (!isRefusal(facts)) await this.#rounds.learn(facts.network)
  }

  /** Calls the listener with each agent that ends or gets a new token, once the change is on disk. */
  onEnd(listener: (agentId: string) => void): void {
    this.#endListeners.push(listener)
  }

  authenticate(token: string): AgentSession | undefined {
    const parts = AgentToken.parse(token)
    if (parts === undefined) return undefined
    try {
      const stored = this.#store.get(parts.id)
      if (stored === undefined) return undefined
      const derived = AgentToken.derive(parts)
      try {
        if (!timingSafeEqual(derived.verifier, stored.verifier)) return undefined
        this.#requireActive(stored)
        const sealingKey = Secret.allocate(sealingKeyLength)
        sealingKey.set(derived.sealingKey)
        return { agentId: parts.id, sealingKey, verifier: stored.verifier }
      } finally {
        Secret.wipe(derived.sealingKey)
      }
    } finally {
      Secret.wipe(parts.secret)
    }
  }

  release({ sealingKey }: AgentSession): void {
    Secret.free(sealingKey)
  }

  get(agentId: string): Agent {
    const stored = this.#store.get(agentId)
    if (stored === undefined || hasEnded(stored.agent)) throw new KmdError('agent_ended')
    return this.#shown(stored)
  }

  find(nameOrId: string): Agent {
    const byId = this.#store.get(nameOrId)
    if (byId !== undefined) return this.#shown(byId)
    const wanted = comparableLabel(nameOrId.slice(0, 1_000).normalize('NFC').trim())
    const named = [...this.#store.all().values()].filter(({ agent }) => comparableLabel(agent.name) === wanted)
    // A name is free again once its agent has ended. If several ended agents had it, the latest is meant.
    const found = named.find(({ agent }) => !hasEnded(agent)) ?? named.at(-1)
    if (found === undefined) throw new KmdError('agent_not_found')
    return this.#shown(found)
  }

  list(): readonly Agent[] {
    return [...this.#store.all().values()].map((stored) => this.#shown(stored))
  }

  async create({ name, walletId, keys, rules, expiresAtMs }: NewAgent, actor: Actor = owner): Promise<NewToken> {
    const label = checkName(name)
    const addresses = keys.map(({ address }) => address)
    checkKeys(addresses)
    checkRules(rules)
    checkExpiry(expiresAtMs, this.#clock.now())
    const { token, ...parts } = AgentToken.create()
    const sealed = sealAll(keys, parts)
    const stored = await this.#database.change(() => {
      this.#requireFree(label)
      const createdAtMs = this.#clock.now()
      const state: AgentState = 'active'
      const fixed = { id: parts.id, name: label, walletId, addresses, rules, createdAtMs }
      const agent: Agent = { ...fixed, state, suspendedReason: undefined, expiresAtMs, lastUsedAtMs: undefined }
      const created = this.#store.insert(agent, sealed.verifier, sealed.keys)
      this.#clock.write(createdAtMs)
      this.#audit.append(AuditEvents.changed('agent_created', agent, actor))
      return created
    })
    return { agent: this.#shown(stored), token }
  }

  setRules(agentId: string, change: RulesChange, actor: Actor = owner): Promise<Agent> {
    if (change.rules !== undefined) checkRules(change.rules)
    if (change.expiresAtMs !== undefined) checkExpiry(change.expiresAtMs, this.#clock.now())
    return this.#change(agentId, 'agent_changed', actor, (stored) => {
      const { rules = stored.agent.rules } = change
      const expiresAtMs = 'expiresAtMs' in change ? change.expiresAtMs : stored.agent.expiresAtMs
      this.#store.setRules(stored, rules, expiresAtMs)
      this.spending.rulesChanged(stored.number, rules)
    })
  }

  pause(agentId: string, actor: Actor = owner): Promise<Agent> {
    return this.#change(agentId, 'agent_paused', actor, (stored) => this.#store.setState(stored, 'paused'))
  }

  async resume(agentId: string, actor: Actor = owner): Promise<Agent> {
    // Compared before the owner's decision, so that the comparison cannot undo the decision.
    await this.#audit.compare()
    await this.prepare(agentId)
    return this.#change(agentId, 'agent_resumed', actor, (stored) => {
      if (stored.agent.suspendedReason !== undefined) this.#suspension.confirm(stored, actor)
      this.#store.setState(stored, 'active')
    })
  }

  confirm(walletId: string, actor: Actor = owner): Promise<readonly Agent[]> {
    return this.#suspension.confirmWallet(walletId, actor)
  }

  /** Suspends every agent. Call only within `StateDatabase.change`. */
  suspendAll(reason: string): void {
    this.#suspension.suspendAll(reason)
  }

  async rotate(agentId: string, keys: readonly GrantedKey[], actor: Actor = owner): Promise<NewToken> {
    const { addresses } = this.#requireNotEnded(agentId).agent
    const given = new Set(keys.map(({ address }) => address))
    if (given.size !== addresses.length || addresses.some((address) => !given.has(address))) {
      throw new KmdError('bad_agent', { message: 'a new token needs the same keys as the old one' })
    }
    const { token, ...parts } = AgentToken.create(agentId)
    const sealed = sealAll(keys, parts)
    const agent = await this.#change(
      agentId,
      'agent_rotated',
      actor,
      (stored) => {
        this.#store.replaceKeys(stored, sealed.verifier, sealed.keys)
        this.#approvals?.endAgent(agentId)
      },
      { erases: true },
    )
    this.#tellEnd(agentId)
    return { agent, token }
  }

  async revoke(agentId: string, actor: Actor = owner): Promise<Agent> {
    return (await this.#end([agentId], 'revoked', actor))[0]!
  }

  async keyDeleted(walletId: string, address: string): Promise<void> {
    await this.#end(this.#idsOf(walletId, address), 'key_deleted', daemon)
  }

  async walletDeleted(walletId: string): Promise<void> {
    await this.#end(this.#idsOf(walletId), 'wallet_deleted', daemon)
  }

  /**
   * Requires that the wallet and all keys of an agent are in the files. If not, nothing is signed for the agent, but the
   * agent does not end: a file can be away for a moment, for example while it is restored. Only deleting the key or the
   * wallet with an operation ends its agents, see {@link keyDeleted} and {@link walletDeleted}.
   *
   * @throws KmdError `agent_keys_missing`; `agent_ended` if it has ended; others if the wallet cannot be read now
   */
  async requireKeys(agentId: string): Promise<void> {
    const presence = await (this.#walletKeys?.check(this.get(agentId)) ?? 'present')
    if (presence !== 'present') throw new KmdError('agent_keys_missing')
  }

  /** Periodic maintenance: ends agents that have expired, and records omitted refusals. */
  async tidy(): Promise<void> {
    await this.#endExpired()
    await this.spending.recordLeftOut([...this.#store.all().values()])
    await this.#prune()
  }

  /** Prunes a limited number at a time; the next call continues. */
  async #prune(): Promise<void> {
    for (const { agent, number } of this.#store.all().values()) {
      if (!hasEnded(agent) || this.#pruned.has(number)) continue
      if (!(await this.spending.prune(number, prunedPieces))) return
      this.#pruned.add(number)
    }
  }

  /** Sealed keys must not outlive their agent's expiry. */
  async #endExpired(): Promise<void> {
    const nowMs = this.#clock.now()
    const expired = [...this.#store.all().values()].filter(({ agent }) => isExpired(agent, nowMs))
    const ids = expired.filter(({ agent }) => !hasEnded(agent)).map(({ agent }) => agent.id)
    await this.#end(ids, 'expired', daemon)
  }

  async sign(
    session: AgentSession,
    transaction: Transaction.Canonical,
    signer: Uint8Array,
    claim: Claim,
  ): Promise<Uint8Array> {
    const { bytes } = transaction
    const facts = readFacts(bytes)
    const signature = await this.#signReserved(session, signer, {
      network: isRefusal(facts) ? undefined : facts.network,
      message: Transaction.bytesToSign(bytes),
      request: () => {
        return { facts, bytes, sender: addressText(transaction.sender), digest: Transaction.digest(bytes), claim }
      },
    })
    return SignedTransaction.attach(bytes, transaction.sender, signature, signer)
  }

  signUpto(session: AgentSession, terms: UptoTerms, signer: Uint8Array, claim: Claim): Promise<Uint8Array> {
    const program = UptoProgram.build(terms)
    const network = Bytes.toBase64(terms.genesisHash)
    return this.#signReserved(session, signer, {
      network,
      message: Program.bytesToSign(program),
      // Read here, after the round is known and before the signature exists: no charge can be in an earlier block.
      request: () => {
        const facts = uptoFacts(terms, this.#rounds.reached(network))
        return { facts, bytes: program, sender: terms.payer, digest: terms.lease, claim, isUpTo: true }
      },
    })
  }

  async #signReserved(
    { agentId, sealingKey, verifier }: AgentSession,
    signer: Uint8Array,
    { network, message, request }: Signable,
  ): Promise<Uint8Array> {
    const address = addressText(signer)
    // If the database was rolled back while no daemon was running, this suspends all agents.
    if (!this.#audit.isCompared) await this.#audit.compare()
    const { agent } = this.#requireGranted(agentId, address, verifier)
    if (this.#walletKeys?.isPresent(agent) === false) await this.requireKeys(agentId)
    // Avoids a turn of the event loop if the round is known, which is nearly always the case.
    if (network !== undefined && this.#rounds.last(network) === 'unknown') await this.#rounds.learn(network)
    // The agent is looked up again in the transaction and once more afterwards, so that ending it in the meantime takes
    // effect.
    const find = (): StoredAgent => this.#requireGranted(agentId, address, verifier)
    await this.spending.reserve(find, { ...request(), signer: address })
    return signWithSealedKey(find().keys.get(address)!, sealingKey, signer, message)
  }

  test(agentId: string, transaction: Transaction.Canonical): Decision {
    const stored = this.#store.require(agentId)
    const digest = Transaction.digest(transaction.bytes)
    return this.spending.test(stored, { facts: readFacts(transaction.bytes), digest })
  }

  /** Reads the agent's spending into memory for `test` and `budget`. */
  async prepare(agentId: string): Promise<void> {
    await this.spending.prepare(() => this.#store.require(agentId))
  }

  budget(agentId: string): readonly LimitUse[] {
    return this.spending.budget(this.#store.require(agentId))
  }

  /** Agents that have not ended, and so may sign now or later. */
  get live(): readonly StoredAgent[] {
    return this.#store.live()
  }

  async #change(
    agentId: string,
    event: EventName,
    actor: Actor,
    make: (stored: StoredAgent) => void,
    options?: { erases: boolean },
  ): Promise<Agent> {
    return this.#database.change(() => {
      const stored = this.#requireNotEnded(agentId)
      make(stored)
      const shown = this.#shown(stored)
      this.#audit.append(AuditEvents.changed(event, shown, actor))
      return shown
    }, options)
  }

  async #end(agentIds: readonly string[], state: AgentState, actor: Actor): Promise<readonly Agent[]> {
    if (agentIds.length === 0) return []
    const ended = await this.#database.change(
      () =>
        agentIds.map((agentId) => {
          const stored = this.#store.require(agentId)
          if (hasEnded(stored.agent)) return this.#shown(stored)
          this.#store.setState(stored, state)
          this.#store.deleteKeys(stored)
          this.#audit.append(AuditEvents.changed('agent_ended', stored.agent, actor))
          this.#approvals?.endAgent(agentId)
          return this.#shown(stored)
        }),
      { erases: true },
    )
    for (const agentId of agentIds) {
      this.#walletKeys?.forget(agentId)
      this.#tellEnd(agentId)
    }
    return ended
  }

  #tellEnd(agentId: string): void {
    for (const listener of this.#endListeners) listener(agentId)
  }

  #idsOf(walletId: string, address?: string): readonly string[] {
    return this.live
      .filter(({ agent }) => agent.walletId === walletId)
      .filter(({ agent }) => address === undefined || agent.addresses.includes(address))
      .map(({ agent }) => agent.id)
  }

  #requireFree(name: string): void {
    const { live } = this
    if (live.length >= this.#mostAgents) throw new KmdError('too_many_agents')
    const wanted = comparableLabel(name)
    const isTaken = live.some(({ agent }) => comparableLabel(agent.name) === wanted)
    // Ids are looked up first, so a name equal to an id could never be found.
    if (isTaken || this.#store.get(name) !== undefined) throw new KmdError('agent_name_taken')
  }

  #requireGranted(agentId: string, address: string, verifier: Buffer): StoredAgent {
    const stored = this.#store.get(agentId)
    if (stored === undefined) throw new KmdError('agent_ended')
    this.#requireActive(stored)
    if (!stored.verifier.equals(verifier)) throw new KmdError('agent_ended', { message: replaced })
    if (!stored.keys.has(address)) throw new KmdError('agent_wallet_forbidden')
    return stored
  }

  #requireActive({ agent }: StoredAgent): void {
    if (hasEnded(agent)) throw new KmdError('agent_ended')
    if (isExpired(agent, this.#clock.now())) throw new KmdError('agent_ended')
    if (agent.suspendedReason !== undefined) throw new KmdError('agent_suspended')
    if (agent.state === 'paused') throw new KmdError('agent_paused')
  }

  #requireNotEnded(agentId: string): StoredAgent {
    const stored = this.#store.require(agentId)
    if (hasEnded(stored.agent) || isExpired(stored.agent, this.#clock.now())) throw new KmdError('agent_ended')
    return stored
  }

  #shown(stored: StoredAgent): Agent {
    const { agent, number } = stored
    const lastUsedAtMs = this.spending.lastAtMs(number)
    const isOver = !hasEnded(agent) && isExpired(agent, this.#clock.now())
    if (isOver || hasEnded(agent)) {
      return { ...agent, ...(isOver && { state: 'expired' }), suspendedReason: undefined, lastUsedAtMs }
    }
    return { ...agent, ...(agent.suspendedReason !== undefined && { state: 'suspended' }), lastUsedAtMs }
  }
}

/** A message to sign once its amount is reserved. `network` is undefined if no rule can allow it. */
type Signable = {
  readonly network: string | undefined
  readonly message: Uint8Array
  readonly request: () => Omit<SpendingRequest, 'signer'>
}

const sealingKeyLength = 32
/** The maximum number of pieces in one run. */
const prunedPieces = 20
const replaced = 'this token was replaced by a newer one for the same agent'

function isExpired({ expiresAtMs }: Agent, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs
}

/** Seals the keys with the token's key, and wipes that key and the token's secret. */
function sealAll(
  keys: readonly GrantedKey[],
  parts: AgentToken.Parts,
): { verifier: Buffer; keys: Map<string, Buffer> } {
  const { verifier, sealingKey } = AgentToken.derive(parts)
  try {
    const sealed = keys.map(({ address, privateKey }): [string, Buffer] => {
      if (Buffer.compare(privateKey.subarray(32), Address.decode(address)) !== 0) {
        throw new KmdError('bad_agent', { message: 'a private key does not belong to its address' })
      }
      return [address, sealKey(privateKey, sealingKey)]
    })
    return { verifier, keys: new Map(sealed) }
  } finally {
    Secret.wipe(sealingKey, parts.secret)
  }
}

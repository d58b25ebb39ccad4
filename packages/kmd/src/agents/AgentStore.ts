/**
 * Stores agents and their sealed keys in the state file, with an identical copy in memory. A sealed key is encrypted with
 * a key derived from the agent's token: neither the token nor the sealed keys alone can sign.
 *
 * The originals are in wallet files. Any daemon using the same files may have deleted them, so their presence is checked,
 * which needs no password.
 */
import { existsSync } from 'node:fs'
import { Address, Ed25519 } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import type { Rules } from '@latchkey/kmd-api/rules'
import { KmdError } from '../errors.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import * as Secret from '../wallet/Secret.js'
import { isLocked } from '../wallet/Sqlite.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { Agent, AgentState } from './Agent.js'

/** An agent with the data needed to verify its token and to sign for it. */
export type StoredAgent = {
  readonly number: number
  agent: Agent
  verifier: Buffer
  /** By address. Empty once the agent has ended. */
  keys: ReadonlyMap<string, Buffer>
}

type Row = {
  number: number
  id: string
  name: string
  wallet_id: string
  addresses: string
  state: string
  created_at_ms: number
  expires_at_ms: number | null
  rules: string
  verifier: Uint8Array
  suspended: string | null
}

export class AgentStore {
  readonly #database: StateDatabase
  #byId: Map<string, StoredAgent> | undefined

  constructor(database: StateDatabase) {
    this.#database = database
  }

  /** Reads nothing while the file does not exist. */
  all(): ReadonlyMap<string, StoredAgent> {
    return this.#byId ?? this.#load()
  }

  get(id: string): StoredAgent | undefined {
    return this.all().get(id)
  }

  /** @throws KmdError `agent_not_found` */
  require(id: string): StoredAgent {
    const stored = this.get(id)
    if (stored === undefined) throw new KmdError('agent_not_found')
    return stored
  }

  /** Agents that have not ended, and so may sign now or later. */
  live(): readonly StoredAgent[] {
    return [...this.all().values()].filter(({ agent }) => !hasEnded(agent))
  }

  /** Called after a transaction was rolled back or the file was reopened. */
  forget(): void {
    this.#byId = undefined
  }

  /** Call only within `StateDatabase.change`. */
  insert(agent: Agent, verifier: Buffer, keys: ReadonlyMap<string, Buffer>): StoredAgent {
    const all = this.#byId ?? this.#load()
    const { lastInsertRowid } = this.#database
      .statement(
        'INSERT INTO agents (id, name, wallet_id, addresses, state, created_at_ms, expires_at_ms, rules, verifier) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(
        agent.id,
        agent.name,
        agent.walletId,
        agent.addresses.join(' '),
        agent.state,
        agent.createdAtMs,
        agent.expiresAtMs ?? null,
        rulesText(agent.rules),
        verifier,
      )
    const stored: StoredAgent = { number: Number(lastInsertRowid), agent, verifier, keys }
    this.#insertKeys(stored)
    all.set(agent.id, stored)
    return stored
  }

  /** Call only within `StateDatabase.change`. */
  setState(stored: StoredAgent, state: AgentState): void {
    this.#database.statement('UPDATE agents SET state = ? WHERE number = ?').run(state, stored.number)
    stored.agent = { ...stored.agent, state }
  }

  /** Sets or clears the reason. Call only within `StateDatabase.change`. */
  setSuspended(stored: StoredAgent, reason: string | undefined): void {
    const sql = 'UPDATE agents SET suspended = ? WHERE number = ?'
    this.#database.statement(sql).run(reason ?? null, stored.number)
    stored.agent = { ...stored.agent, suspendedReason: reason }
  }

  /** Suspends the agents that have not ended, and returns them. Call only within `StateDatabase.change`. */
  suspendLive(reason: string): readonly StoredAgent[] {
    const live = this.live()
    const isLive = `state NOT IN (${final.map(() => '?').join(', ')})`
    this.#database.statement(`UPDATE agents SET suspended = ? WHERE ${isLive}`).run(reason, ...final)
    for (const stored of live) stored.agent = { ...stored.agent, suspendedReason: reason }
    return live
  }

  /** Call only within `StateDatabase.change`. */
  setRules(stored: StoredAgent, rules: Rules, expiresAtMs: number | undefined): void {
    this.#database
      .statement('UPDATE agents SET rules = ?, expires_at_ms = ? WHERE number = ?')
      .run(rulesText(rules), expiresAtMs ?? null, stored.number)
    stored.agent = { ...stored.agent, rules, expiresAtMs }
  }

  /** Replaces the sealed keys and the token's verifier. Call only within `StateDatabase.change`. */
  replaceKeys(stored: StoredAgent, verifier: Buffer, keys: ReadonlyMap<string, Buffer>): void {
    this.#database.statement('UPDATE agents SET verifier = ? WHERE number = ?').run(verifier, stored.number)
    this.deleteKeys(stored)
    stored.verifier = verifier
    stored.keys = keys
    this.#insertKeys(stored)
  }

  /** Deletes the keys from the file and from memory. Call only within `StateDatabase.change`. */
  deleteKeys(stored: StoredAgent): void {
    this.#database.statement('DELETE FROM agent_keys WHERE agent = ?').run(stored.number)
    Secret.wipe(...stored.keys.values())
    stored.keys = new Map()
  }

  #insertKeys({ number, keys }: StoredAgent): void {
    const insert = this.#database.statement('INSERT INTO agent_keys (agent, address, sealed) VALUES (?, ?, ?)')
    for (const [address, sealed] of keys) insert.run(number, address, sealed)
  }

  #load(): Map<string, StoredAgent> {
    const all = new Map<string, StoredAgent>()
    if (!this.#database.exists) return all
    const keys = this.#loadKeys()
    const rows = this.#database.statement('SELECT * FROM agents ORDER BY number').all() as Row[]
    for (const row of rows) all.set(row.id, readRow(row, keys.get(row.number) ?? new Map()))
    this.#byId = all
    return all
  }

  #loadKeys(): Map<number, Map<string, Buffer>> {
    const byAgent = new Map<number, Map<string, Buffer>>()
    const rows = this.#database.statement('SELECT agent, address, sealed FROM agent_keys').all() as KeyRow[]
    for (const { agent, address, sealed } of rows) {
      const keys = byAgent.get(agent) ?? new Map<string, Buffer>()
      keys.set(address, Buffer.from(sealed))
      byAgent.set(agent, keys)
    }
    return byAgent
  }
}

type KeyRow = { agent: number; address: string; sealed: Uint8Array }

function readRow(row: Row, keys: ReadonlyMap<string, Buffer>): StoredAgent {
  try {
    const agent: Agent = {
      id: row.id,
      name: row.name,
      walletId: row.wallet_id,
      addresses: row.addresses.split(' '),
      state: row.state as AgentState,
      suspendedReason: row.suspended ?? undefined,
      createdAtMs: row.created_at_ms,
      expiresAtMs: row.expires_at_ms ?? undefined,
      lastUsedAtMs: undefined,
      rules: parseRules(row.rules),
    }
    return { number: row.number, agent, verifier: Buffer.from(row.verifier), keys }
  } catch (error) {
    const message = `latchkey_state.db cannot be used: its record of agent ${row.number} is damaged. The file was not changed`
    throw new KmdError('state_not_written', { message, cause: error })
  }
}

const final: readonly AgentState[] = ['revoked', 'expired', 'key_deleted', 'wallet_deleted']

export function hasEnded({ state }: Pick<Agent, 'state'>): boolean {
  return final.includes(state)
}

/**
 * Serializes rules for the state file. Integers are decimal text with a suffix; `payees.allow` is absent if all payees
 * are allowed.
 */
export function rulesText(rules: Rules): string {
  const { allow, deny } = rules.payees
  const stored = { ...rules, payees: allow === 'all' ? { deny } : { allow, deny } }
  return JSON.stringify(stored, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

/** Reads the output of {@link rulesText}. The file never contains anything else. */
function parseRules(text: string): Rules {
  const rules = JSON.parse(text, (_name, value) =>
    typeof value === 'string' && /^[0-9]{1,20}n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  )
  return { dollars: [], ...rules, payees: { allow: 'all', ...rules.payees } }
}

/** Whether all keys of an agent are in its wallet's file. */
export type Presence = 'present' | 'missing'

type Known = {
  readonly entry: Entry
  readonly publicKeys: readonly Uint8Array[]
  /** The file revision that had all of the keys. */
  presentIn: number | undefined
}

/** Checks whether agents' keys are still in their wallets. */
export class WalletKeys {
  readonly #wallets: Pick<Wallets, 'find' | 'hasKey' | 'problems' | 'revision'>
  /** The agents' wallets, by agent, cached because every signature needs them. */
  readonly #known = new Map<string, Known>()

  constructor(wallets: Pick<Wallets, 'find' | 'hasKey' | 'problems' | 'revision'>) {
    this.#wallets = wallets
  }

  /**
   * Whether all keys of an agent are known to be present: the file was checked before and is still in place. Otherwise,
   * call `check`.
   */
  isPresent({ id }: Agent): boolean {
    const known = this.#known.get(id)
    try {
      return known !== undefined && this.#look(known) === 'present'
    } catch {
      return false
    }
  }

  /**
   * Checks for all keys of an agent.
   *
   * @throws KmdError if the wallet cannot be read now
   */
  async check(agent: Agent): Promise<Presence> {
    try {
      return await this.#find(agent)
    } catch (error) {
      this.#known.delete(agent.id)
      throw error
    }
  }

  forget(agentId: string): void {
    this.#known.delete(agentId)
  }

  async #find(agent: Agent): Promise<Presence> {
    for (let tries = 1; ; tries++) {
      let entry: Entry | undefined
      try {
        entry = await this.#wallets.find(agent.walletId)
        const known: Known = { entry, publicKeys: agent.addresses.map(Address.decode), presentIn: undefined }
        const presence = this.#look(known)
        this.#known.set(agent.id, known)
        return presence
      } catch (error) {
        if (error instanceof KmdError && error.code === 'wallet_not_found') {
          // The missing wallet may be the unreadable one.
          if (this.#wallets.problems().length > 0) throw error
          return 'missing'
        }
        // The wallet list may be slightly outdated: the file may have another name now, or be gone.
        const isGone = entry !== undefined && !existsSync(entry.path)
        if (tries === mostTries || !(isGone || isLocked(error))) throw error
        await new Promise((resolve) => setTimeout(resolve, lockPollMs))
      }
    }
  }

  #look(known: Known): Presence {
    const { entry, publicKeys } = known
    const revision = this.#wallets.revision(entry)
    if (revision !== undefined && revision === known.presentIn) return 'present'
    for (const publicKey of publicKeys) if (!this.#wallets.hasKey(entry, publicKey)) return 'missing'
    known.presentIn = revision
    return 'present'
  }
}

/** Other programs hold a wallet for milliseconds, and a list is at most two seconds old. */
const mostTries = 150
const lockPollMs = 20

/**
 * Serializes changes that connect a wallet and its agents: granting its keys, deleting a key, deleting the wallet. A
 * key that is being deleted cannot be granted at the same time.
 */
export class WalletTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs `work` after all earlier work for the same wallet has finished. */
  async run<T>(walletId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(walletId)
    const turn = before === undefined ? work() : before.then(work)
    // The caller handles the failure; the next one only waits.
    const done = turn.then(
      () => {},
      () => {},
    )
    this.#last.set(walletId, done)
    try {
      return await turn
    } finally {
      if (this.#last.get(walletId) === done) this.#last.delete(walletId)
    }
  }
}

const nonceLength = 24
const tagLength = 16
const sealedLength = nonceLength + tagLength + Ed25519.secretKeyLength

/** Returns a nonce and the secretbox of a 64-byte private key. */
export function sealKey(privateKey: Uint8Array, key: Uint8Array): Buffer {
  if (privateKey.length !== Ed25519.secretKeyLength)
    throw new KmdError('bad_agent', { message: 'a private key has 64 bytes' })
  const sealed = Buffer.alloc(sealedLength)
  const nonce = sealed.subarray(0, nonceLength)
  sodium.randombytes_buf(nonce)
  sodium.crypto_secretbox_easy(sealed.subarray(nonceLength), privateKey, nonce, key)
  return sealed
}

/**
 * Signs with a sealed key, which is decrypted in protected memory only for the duration of the signature.
 *
 * @throws KmdError `agent_ended` if the key does not open, or does not match the public key
 */
export function signWithSealedKey(
  sealed: Uint8Array,
  key: Uint8Array,
  publicKey: Uint8Array,
  message: Uint8Array,
): Uint8Array {
  opened ??= Secret.allocate(Ed25519.secretKeyLength)
  try {
    const isOpen =
      sealed.length === sealedLength &&
      sodium.crypto_secretbox_open_easy(opened, sealed.subarray(nonceLength), sealed.subarray(0, nonceLength), key)
    if (!isOpen || Buffer.compare(opened.subarray(Ed25519.seedLength), publicKey) !== 0) {
      throw new KmdError('agent_ended', { message: "this agent's sealed key cannot be opened: it is damaged" })
    }
    return Ed25519.sign(message, opened)
  } finally {
    Secret.wipe(opened)
  }
}

/** Shared: all code here is synchronous, so uses never overlap. */
let opened: Buffer | undefined

/**
 * Checks whether agents' keys are still in their wallets, and seals copies of them. Any daemon using the same files may
 * have deleted the keys. The addresses can be read without a password. A copy is encrypted with a key derived from the
 * token: neither the token nor the sealed keys alone can sign.
 */
import { existsSync } from 'node:fs'
import { Address, Ed25519 } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { isLocked } from '../wallet/Sqlite.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { Agent } from './Agent.js'

export type Presence = 'present' | 'key_deleted' | 'wallet_deleted'

type Known = {
  readonly entry: Entry
  readonly publicKeys: readonly Uint8Array[]
  /** The file revision that had all of the keys. */
  presentIn: number | undefined
}

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
          return 'wallet_deleted'
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
    for (const publicKey of publicKeys) if (!this.#wallets.hasKey(entry, publicKey)) return 'key_deleted'
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

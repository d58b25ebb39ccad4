/** The daemon's operations, as the console uses them. */

import * as Address from './model/address.js'
import { toBase64 } from './model/bytes.js'
import type { MultisigSoFar } from './model/envelope.js'
import {
  type Account,
  type Described,
  type Health,
  type Multisig,
  type Node,
  type Sighting,
  type Signing,
  toAccount,
  toDescribed,
  toHealth,
  toNode,
  toSighting,
  toSigning,
  toWallet,
  type Wallet,
} from './responses.js'
import * as Wire from './wire.js'

const mostAccounts = 100
export const mostFound = 50

export class Api {
  readonly #token: string
  readonly #onLost: () => void
  /** An address is the hash of its members, so what is behind it never changes. */
  readonly #multisigs = new Map<string, Multisig>()

  constructor(options: { token: string; onLost: () => void }) {
    this.#token = options.token
    this.#onLost = options.onLost
  }

  async wallets(): Promise<Wallet[]> {
    return Wire.objects(await this.#get('/v1/wallets'), 'wallets').map(toWallet)
  }

  async createWallet(options: { name: string; password: string }): Promise<Wallet> {
    const answer = await this.#post('/v1/wallet', {
      wallet_name: options.name,
      wallet_driver_name: 'sqlite',
      wallet_password: options.password,
    })
    return toWallet(Wire.object(answer, 'wallet'))
  }

  /** The token of the new handle. */
  async unlock(options: { walletId: string; password: string }): Promise<string> {
    const answer = await this.#post('/v1/wallet/init', {
      wallet_id: options.walletId,
      wallet_password: options.password,
    })
    return Wire.text(answer, 'wallet_handle_token')
  }

  /** Seconds that the handle now has. */
  async renew(handle: string): Promise<number> {
    const answer = await this.#post('/v1/wallet/renew', { wallet_handle_token: handle })
    return Wire.number(Wire.object(answer, 'wallet_handle'), 'expires_seconds')
  }

  async release(handle: string, options: { keepalive?: boolean } = {}): Promise<void> {
    await this.#post('/v1/wallet/release', { wallet_handle_token: handle }, options.keepalive)
  }

  async generateKey(handle: string): Promise<string> {
    return Wire.text(await this.#post('/v1/key', { wallet_handle_token: handle }), 'address')
  }

  async keys(handle: string): Promise<string[]> {
    return Wire.texts(await this.#post('/v1/key/list', { wallet_handle_token: handle }), 'addresses')
  }

  async multisigs(handle: string): Promise<Multisig[]> {
    const answer = await this.#post('/v1/multisig/list', { wallet_handle_token: handle })
    return Promise.all(Wire.texts(answer, 'addresses').map((address) => this.#multisig(handle, address)))
  }

  async #multisig(handle: string, address: string): Promise<Multisig> {
    const known = this.#multisigs.get(address)
    if (known !== undefined) return known
    const answer = await this.#post('/v1/multisig/export', { wallet_handle_token: handle, address })
    const members = Wire.list(answer, 'pks').map((key) => Address.encode(Wire.bytes(key)))
    const version = Wire.number(answer, 'multisig_version')
    const multisig = { address, version, threshold: Wire.number(answer, 'threshold'), members }
    this.#multisigs.set(address, multisig)
    return multisig
  }

  async importMultisig(options: { handle: string; threshold: number; members: readonly string[] }): Promise<string> {
    const answer = await this.#post('/v1/multisig/import', {
      wallet_handle_token: options.handle,
      multisig_version: 1,
      threshold: options.threshold,
      pks: options.members.map((member) => toBase64(Address.decode(member))),
    })
    return Wire.text(answer, 'address')
  }

  async describe(
    transaction: Uint8Array,
  ): Promise<{ transactions: readonly Described[]; groupWarnings: readonly string[] }> {
    const answer = await this.#post('/latchkey/v1/transaction/describe', { transaction: toBase64(transaction) })
    const transactions = Wire.objects(answer, 'transactions').map(toDescribed)
    return { transactions, groupWarnings: Wire.texts(answer, 'group_warnings') }
  }

  /** With its signature around it, and the signer named where it is not the sender. */
  async sign(options: {
    handle: string
    password: string
    transaction: Uint8Array
    signer: string
  }): Promise<Uint8Array> {
    const answer = await this.#post('/v1/transaction/sign', {
      wallet_handle_token: options.handle,
      wallet_password: options.password,
      transaction: toBase64(options.transaction),
      public_key: toBase64(Address.decode(options.signer)),
    })
    return Wire.bytes(answer['signed_transaction'])
  }

  /** The multisig signature so far with one member's added, as nodes read it. */
  async signMultisig(options: {
    handle: string
    password: string
    transaction: Uint8Array
    member: string
    account: string
    soFar: MultisigSoFar
  }): Promise<Uint8Array> {
    const { version, threshold, slots } = options.soFar
    const answer = await this.#post('/v1/multisig/sign', {
      wallet_handle_token: options.handle,
      wallet_password: options.password,
      transaction: toBase64(options.transaction),
      public_key: toBase64(Address.decode(options.member)),
      signer: toBase64(Address.decode(options.account)),
      partial_multisig: {
        v: version,
        thr: threshold,
        subsig: slots.map(({ publicKey, signature }) => ({
          pk: toBase64(publicKey),
          ...(signature === undefined ? {} : { s: toBase64(signature) }),
        })),
      },
    })
    return Wire.bytes(answer['multisig'])
  }

  async node(): Promise<Node> {
    return toNode(await this.#get('/latchkey/v1/node'))
  }

  async accounts(addresses: readonly string[]): Promise<Account[]> {
    const found: Account[] = []
    for (let at = 0; at < addresses.length; at += mostAccounts) {
      const some = addresses.slice(at, at + mostAccounts)
      const answer = await this.#post('/latchkey/v1/accounts', { addresses: some })
      found.push(...Wire.objects(answer, 'accounts').map(toAccount))
    }
    return found
  }

  async signings(after: number): Promise<{ sinceMs: number; signings: readonly Signing[] }> {
    const answer = await this.#post('/latchkey/v1/signings', { after })
    const signings = Wire.objects(answer, 'signings').map(toSigning)
    return { sinceMs: Wire.number(answer, 'since_ms'), signings }
  }

  async find(transactionIds: readonly string[]): Promise<Sighting[]> {
    const answer = await this.#post('/latchkey/v1/transactions', { transaction_ids: transactionIds })
    return Wire.objects(answer, 'transactions').map(toSighting)
  }

  async health(): Promise<Health> {
    return toHealth(await this.#get('/latchkey/v1/health'))
  }

  async close(): Promise<void> {
    await this.#post('/latchkey/v1/console/close', {})
  }

  #get(path: string): Promise<Wire.Answer> {
    return this.#watch(Wire.call({ method: 'GET', path, token: this.#token }))
  }

  #post(path: string, body: object, keepalive = false): Promise<Wire.Answer> {
    return this.#watch(Wire.call({ method: 'POST', path, body, token: this.#token, keepalive }))
  }

  /** Whatever was asked: an ended session is the whole page's business. */
  async #watch(answer: Promise<Wire.Answer>): Promise<Wire.Answer> {
    try {
      return await answer
    } catch (error) {
      if (error instanceof Wire.SessionLostError) this.#onLost()
      throw error
    }
  }
}

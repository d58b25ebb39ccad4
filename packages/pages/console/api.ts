/** The daemon's operations that the console uses. */

import { Address, Bytes, type Multisig } from '@latchkey/algorand'
import { hasCode } from './errors.js'
import * as Fields from './fields.js'
import { type RequestOptions, request } from './request.js'
import {
  type Account,
  type AssetDetails,
  type Contact,
  type Health,
  type Holding,
  type MultisigAccount,
  type NodeStatus,
  type Outcome,
  type SignatureEntry,
  type Submitted,
  type TransactionDescription,
  type TransactionParameters,
  type TransactionStatus,
  toAccount,
  toAssetDetails,
  toContact,
  toHealth,
  toHolding,
  toNodeStatus,
  toOutcome,
  toSignatureEntry,
  toSubmitted,
  toTransactionDescription,
  toTransactionParameters,
  toTransactionStatus,
  toWallet,
  type Wallet,
} from './responses.js'

const maxAccountsPerRequest = 100
/** Browsers allow 64 KiB, which must also hold the base64 overhead and the rest of the body. */
const maxKeepaliveBytes = 40_000
export const maxTransactionsPerRequest = 50

export class Api {
  readonly #token: string
  readonly #onSessionEnded: () => void
  /** Cached without expiry: the address is a hash of the members, so they never change. */
  readonly #multisigs = new Map<string, MultisigAccount>()

  constructor(options: { token: string; onSessionEnded: () => void }) {
    this.#token = options.token
    this.#onSessionEnded = options.onSessionEnded
  }

  async wallets(): Promise<Wallet[]> {
    return Fields.objects(await this.#get('/v1/wallets'), 'wallets').map(toWallet)
  }

  async createWallet(options: { name: string; password: string }): Promise<Wallet> {
    const response = await this.#post('/v1/wallet', {
      wallet_name: options.name,
      wallet_driver_name: 'sqlite',
      wallet_password: options.password,
    })
    return toWallet(Fields.object(response, 'wallet'))
  }

  /** Returns the token of the new handle. */
  async unlock(options: { walletId: string; password: string }): Promise<string> {
    const response = await this.#post('/v1/wallet/init', {
      wallet_id: options.walletId,
      wallet_password: options.password,
    })
    return Fields.string(response, 'wallet_handle_token')
  }

  /** Returns the seconds until the handle expires. */
  async renew(handle: string): Promise<number> {
    const response = await this.#post('/v1/wallet/renew', { wallet_handle_token: handle })
    return Fields.number(Fields.object(response, 'wallet_handle'), 'expires_seconds')
  }

  async release(handle: string, options: { keepalive?: boolean } = {}): Promise<void> {
    await this.#post('/v1/wallet/release', { wallet_handle_token: handle }, options.keepalive)
  }

  async generateKey(handle: string): Promise<string> {
    return Fields.string(await this.#post('/v1/key', { wallet_handle_token: handle }), 'address')
  }

  async keys(handle: string): Promise<string[]> {
    return Fields.strings(await this.#post('/v1/key/list', { wallet_handle_token: handle }), 'addresses')
  }

  async multisigs(handle: string): Promise<MultisigAccount[]> {
    const response = await this.#post('/v1/multisig/list', { wallet_handle_token: handle })
    return Promise.all(Fields.strings(response, 'addresses').map((address) => this.#multisig(handle, address)))
  }

  async #multisig(handle: string, address: string): Promise<MultisigAccount> {
    const cached = this.#multisigs.get(address)
    if (cached !== undefined) return cached
    const response = await this.#post('/v1/multisig/export', { wallet_handle_token: handle, address })
    const members = Fields.array(response, 'pks').map((key) => Address.encode(Fields.bytes(key)))
    const version = Fields.number(response, 'multisig_version')
    const multisig = { address, version, threshold: Fields.number(response, 'threshold'), members }
    this.#multisigs.set(address, multisig)
    return multisig
  }

  async importMultisig(options: { handle: string; threshold: number; members: readonly string[] }): Promise<string> {
    const response = await this.#post('/v1/multisig/import', {
      wallet_handle_token: options.handle,
      multisig_version: 1,
      threshold: options.threshold,
      pks: options.members.map((member) => Bytes.toBase64(Address.decode(member))),
    })
    return Fields.string(response, 'address')
  }

  async describe(
    transaction: Uint8Array,
  ): Promise<{ descriptions: readonly TransactionDescription[]; groupWarnings: readonly string[] }> {
    const response = await this.#post('/latchkey/v1/transaction/describe', { transaction: Bytes.toBase64(transaction) })
    const descriptions = Fields.objects(response, 'transactions').map(toTransactionDescription)
    return { descriptions, groupWarnings: Fields.strings(response, 'group_warnings') }
  }

  /** Returns the signed transaction, which names the signer if it differs from the sender. */
  async sign(options: {
    handle: string
    password: string
    transaction: Uint8Array
    signer: string
  }): Promise<Uint8Array> {
    const response = await this.#post('/v1/transaction/sign', {
      wallet_handle_token: options.handle,
      wallet_password: options.password,
      transaction: Bytes.toBase64(options.transaction),
      public_key: Bytes.toBase64(Address.decode(options.signer)),
    })
    return Fields.bytes(response['signed_transaction'])
  }

  /** Returns the multisig signature with one member's signature added, encoded. */
  async signMultisig(options: {
    handle: string
    password: string
    transaction: Uint8Array
    member: string
    account: string
    partial: Multisig.Signature
  }): Promise<Uint8Array> {
    const { v, thr, subsig } = options.partial
    const response = await this.#post('/v1/multisig/sign', {
      wallet_handle_token: options.handle,
      wallet_password: options.password,
      transaction: Bytes.toBase64(options.transaction),
      public_key: Bytes.toBase64(Address.decode(options.member)),
      signer: Bytes.toBase64(Address.decode(options.account)),
      partial_multisig: {
        v,
        thr,
        subsig: subsig.map(({ pk, s }) => ({
          pk: Bytes.toBase64(pk),
          ...(s === undefined ? {} : { s: Bytes.toBase64(s) }),
        })),
      },
    })
    return Fields.bytes(response['multisig'])
  }

  async contacts(): Promise<Contact[]> {
    return Fields.objects(await this.#get('/latchkey/v1/contacts'), 'contacts').map(toContact)
  }

  /** Adds a contact to the address book, or changes its label. */
  async setContact(contact: Contact): Promise<void> {
    await this.#post('/latchkey/v1/contact', contact)
  }

  async deleteContact(address: string): Promise<void> {
    await this.send({ method: 'DELETE', path: '/latchkey/v1/contact', body: { address } })
  }

  /** Returns the ids of the wallets that were created in the console and are not backed up yet. */
  async pendingBackups(): Promise<string[]> {
    return Fields.strings(await this.#get('/latchkey/v1/wallet/backups'), 'wallet_ids')
  }

  /** Returns the 32 bytes of the master derivation key. The caller overwrites them. */
  async backUp(options: { handle: string; password: string }): Promise<Uint8Array> {
    const response = await this.#post('/latchkey/v1/wallet/backup', {
      wallet_handle_token: options.handle,
      wallet_password: options.password,
    })
    return Fields.bytes(response['master_derivation_key'])
  }

  async finishBackup(walletId: string): Promise<void> {
    await this.#post('/latchkey/v1/wallet/backup/finish', { wallet_id: walletId })
  }

  async node(): Promise<NodeStatus> {
    return toNodeStatus(await this.#get('/latchkey/v1/node'))
  }

  async accounts(addresses: readonly string[]): Promise<Account[]> {
    const accounts: Account[] = []
    for (let at = 0; at < addresses.length; at += maxAccountsPerRequest) {
      const batch = addresses.slice(at, at + maxAccountsPerRequest)
      const response = await this.#post('/latchkey/v1/accounts', { addresses: batch })
      accounts.push(...Fields.objects(response, 'accounts').map(toAccount))
    }
    return accounts
  }

  /** Returns the entries of the signature log after a number, and when the log begins. */
  async signatureLog(after: number): Promise<{ sinceMs: number; entries: readonly SignatureEntry[] }> {
    const response = await this.#post('/latchkey/v1/signings', { after })
    const entries = Fields.objects(response, 'signings').map(toSignatureEntry)
    return { sinceMs: Fields.number(response, 'since_ms'), entries }
  }

  async transactionStatuses(transactionIds: readonly string[]): Promise<TransactionStatus[]> {
    const response = await this.#post('/latchkey/v1/transactions', { transaction_ids: transactionIds })
    return Fields.objects(response, 'transactions').map(toTransactionStatus)
  }

  async transactionParameters(): Promise<TransactionParameters> {
    return toTransactionParameters(await this.#get('/latchkey/v1/transaction/parameters'))
  }

  async asset(assetId: string): Promise<AssetDetails | undefined> {
    const response = await this.#post('/latchkey/v1/assets', { asset_ids: [assetId] })
    return Fields.objects(response, 'assets').map(toAssetDetails)[0]
  }

  async holdings(assetId: string, addresses: readonly string[]): Promise<Holding[]> {
    const response = await this.#post('/latchkey/v1/holdings', { asset_id: assetId, addresses })
    return Fields.objects(response, 'holdings').map(toHolding)
  }

  /** Returns why the node would reject a transaction, or an empty string if it would accept it. */
  async simulate(transaction: Uint8Array): Promise<string> {
    const response = await this.#post('/latchkey/v1/transaction/simulate', { transaction: Bytes.toBase64(transaction) })
    if (Fields.boolean(response, 'is_accepted')) return ''
    return Fields.string(response, 'explanation') || 'The node rejected the transaction.'
  }

  async submit(signed: Uint8Array): Promise<Submitted> {
    const body = { transaction: Bytes.toBase64(signed) }
    // Works while the page unloads too, but browsers limit the size of a request that outlives its page.
    return toSubmitted(await this.#post('/latchkey/v1/transaction/submit', body, signed.length < maxKeepaliveBytes))
  }

  async outcome(options: { transactionId: string; firstValid: number; lastValid: number }): Promise<Outcome> {
    const { transactionId, firstValid, lastValid } = options
    const body = { transaction_id: transactionId, first_valid: firstValid, last_valid: lastValid }
    return toOutcome(await this.#post('/latchkey/v1/transaction/outcome', body))
  }

  /** Funds an account from the faucet of a devnet. */
  async fund(options: { address: string; microAlgos: bigint; assetId?: string; units?: bigint }): Promise<void> {
    const { address, microAlgos, assetId, units } = options
    const asset = assetId === undefined ? {} : { asset_id: assetId, amount: String(units ?? 0n) }
    await this.#post('/latchkey/v1/devnet/fund', { address, micro_algos: String(microAlgos), ...asset })
  }

  async health(): Promise<Health> {
    return toHealth(await this.#get('/latchkey/v1/health'))
  }

  async close(): Promise<void> {
    await this.#post('/latchkey/v1/console/close', {})
  }

  #get(path: string): Promise<Fields.JsonObject> {
    return this.send({ method: 'GET', path })
  }

  #post(path: string, body: object, keepalive = false): Promise<Fields.JsonObject> {
    return this.send({ method: 'POST', path, body, keepalive })
  }

  /**
   * Sends a request with the session token. If the session has ended, the whole page is told, regardless of the
   * request.
   */
  async send(options: Omit<RequestOptions, 'token'>): Promise<Fields.JsonObject> {
    try {
      return await request({ ...options, token: this.#token })
    } catch (error) {
      if (hasCode(error, 'session_ended')) this.#onSessionEnded()
      throw error
    }
  }
}

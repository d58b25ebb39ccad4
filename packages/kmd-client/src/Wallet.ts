/// <reference lib="esnext.disposable" preserve="true" />
/** An unlocked wallet and the operations on its keys. */
import { Address, Bytes, Multisig } from '@latchkey/algorand'
import type { CallOptions } from './Connection.js'
import { invalidResponse, KmdClientError } from './KmdClientError.js'
import type { Operation } from './operations.js'
import type { Members } from './RequestBody.js'
import { type PasswordOptions, readWalletInfo, type Session, type WalletInfo } from './Session.js'

/** A public key as 32 bytes or as its address. */
export type PublicKey = Uint8Array | string

/** The components of a multisig address. */
export type MultisigPreimage = {
  version: number
  threshold: number
  publicKeys: Uint8Array[]
}

/** Options of `wallet.importMultisig`. */
export type ImportMultisigOptions = CallOptions & {
  /** @default 1 */
  version?: number | undefined
  /** The number of signatures required. */
  threshold: number
  /** The members' public keys. Their order is part of the address. */
  publicKeys: readonly PublicKey[]
}

/** Options of `wallet.signTransaction`. */
export type SignTransactionOptions = PasswordOptions & {
  /**
   * The key to sign with, if the account was rekeyed to it.
   *
   * @default the sender's key
   */
  publicKey?: PublicKey | undefined
}

/** Options of `wallet.signProgram`. */
export type SignProgramOptions = PasswordOptions & { address: string; program: Uint8Array }

/** Options of `wallet.signReceipt`. */
export type SignReceiptOptions = PasswordOptions & {
  /** The address of the key that signs. */
  address: string
  /** The CAIP-2 id of the network of the payment. */
  network: string
  /** The URL that was paid for. */
  resourceUrl: string
  /** The address that paid. */
  payer: string
  /** @default the receipt names no transaction */
  transaction?: string | undefined
}

/** Options of `wallet.signOffer`. */
export type SignOfferOptions = PasswordOptions & {
  /** The address of the key that signs. */
  address: string
  /** The URL that is offered. */
  resourceUrl: string
  /** The scheme of the payment, such as `exact`. */
  scheme: string
  /** The CAIP-2 id of the network of the payment. */
  network: string
  /** The id of the asset; `0` is ALGO. */
  asset: string
  /** The address that is paid. */
  payTo: string
  /** Base units of the asset. */
  amount: string
  /** The end of the offer, in seconds since 1970. */
  validUntil: number
}

/** A partial multisig signature: the result of the previous member's signing, encoded or decoded. */
export type PartialMultisig = Uint8Array | Multisig.Signature

/** Options of `wallet.signMultisigTransaction`. */
export type SignMultisigTransactionOptions = PasswordOptions & {
  transaction: Uint8Array
  /** The member to sign for. */
  publicKey: PublicKey
  /** @default an empty signature of the preimage in the wallet */
  partial?: PartialMultisig | undefined
  /**
   * The multisig address, if the sender was rekeyed to it.
   *
   * @default the sender
   */
  signer?: PublicKey | undefined
}

/** Options of `wallet.signMultisigProgram`. */
export type SignMultisigProgramOptions = PasswordOptions & {
  /** The multisig address. */
  address: string
  program: Uint8Array
  /** The member to sign for. */
  publicKey: PublicKey
  /** @default an empty signature of the preimage in the wallet */
  partial?: PartialMultisig | undefined
  /**
   * Signs in the way of daemons before version 4.3.
   *
   * @default false
   */
  useLegacyMultisig?: boolean | undefined
}

const seedLength = 32
const privateKeyLength = 64
const masterKeyLength = 32
const signatureLength = 64
const publicKeyLength = 32

/**
 * An unlocked wallet, returned by `kmd.unlock`. Release it when it is no longer needed; an unused handle expires. Every
 * method throws {@link KmdClientError}.
 */
export class Wallet {
  readonly #session: Session

  /** @internal */
  constructor(session: Session) {
    this.#session = session
  }

  /** The wallet's id. */
  get id(): string {
    return this.#session.wallet.id
  }

  /** The wallet's name as last reported by the daemon. */
  get name(): string {
    return this.#session.wallet.name
  }

  /** Describes the wallet and returns the seconds until the handle expires. */
  async info(options: CallOptions = {}): Promise<WalletInfo & { expiresSeconds: number }> {
    const response = await this.#session.call('GetWalletInfo', {}, options)
    const { wallet, expiresSeconds } = response.walletHandle
    return { ...readWalletInfo(wallet), expiresSeconds }
  }

  /** Renames the wallet. */
  rename(name: string, options: PasswordOptions = {}): Promise<WalletInfo> {
    return this.#session.rename(name, options)
  }

  /** Exports the master derivation key, which backs up every generated key but no imported keys. */
  async masterDerivationKey(options: PasswordOptions = {}): Promise<Uint8Array> {
    const operation = 'ExportMasterKey'
    const { masterDerivationKey } = await this.#session.callWithPassword(operation, {}, options)
    return ofLength(masterKeyLength, masterDerivationKey, operation, 'master_derivation_key')
  }

  /** Lists the addresses of all keys, in byte order. */
  async keys(options: CallOptions = {}): Promise<string[]> {
    return (await this.#session.call('ListKeysInWallet', {}, options)).addresses
  }

  /** Generates the next key from the master derivation key and returns its address. */
  async generateKey(options: CallOptions = {}): Promise<string> {
    return (await this.#session.call('GenerateKey', {}, options)).address
  }

  /** Imports a private key (64 bytes of seed and public key, or a 32-byte seed) and returns its address. */
  async importKey(privateKey: Uint8Array, options: CallOptions = {}): Promise<string> {
    const operation = 'ImportKey'
    const length = toBytes(privateKey, 'the private key', operation).length
    if (length !== seedLength && length !== privateKeyLength) {
      throw invalid(`a private key has ${privateKeyLength} bytes, or ${seedLength} as a seed, not ${length}`, operation)
    }
    const response = await this.#session.call(operation, { private_key: Bytes.toBase64(privateKey) }, options)
    return response.address
  }

  /** Exports a private key: 64 bytes of seed and public key, which the caller must wipe. */
  async exportKey(address: string, options: PasswordOptions = {}): Promise<Uint8Array> {
    const { privateKey } = await this.#session.callWithPassword('ExportKey', { address }, options)
    return ofLength(privateKeyLength, privateKey, 'ExportKey', 'private_key')
  }

  /** Deletes a key. Succeeds even if the key does not exist. */
  async deleteKey(address: string, options: PasswordOptions = {}): Promise<void> {
    await this.#session.callWithPassword('DeleteKey', { address }, options)
  }

  /** Lists the addresses of the multisig accounts whose preimages are in the wallet. */
  async multisigs(options: CallOptions = {}): Promise<string[]> {
    return (await this.#session.call('ListMultisig', {}, options)).addresses
  }

  /** Stores the preimage of a multisig account and returns its address. */
  async importMultisig({ version = 1, threshold, publicKeys, ...options }: ImportMultisigOptions): Promise<string> {
    const operation = 'ImportMultisig'
    const pks = publicKeys.map((key) => toPublicKey(key, operation))
    const members = { multisig_version: version, threshold, pks }
    return (await this.#session.call(operation, members, options)).address
  }

  /** Returns the preimage of a multisig account. */
  async exportMultisig(address: string, options: CallOptions = {}): Promise<MultisigPreimage> {
    const response = await this.#session.call('ExportMultisig', { address }, options)
    return {
      version: response.multisigVersion,
      threshold: response.threshold,
      publicKeys: response.pks.map((key) => ofLength(publicKeyLength, key, 'ExportMultisig', 'pks')),
    }
  }

  /** Deletes the preimage of a multisig account. Succeeds even if there is none. */
  async deleteMultisig(address: string, options: PasswordOptions = {}): Promise<void> {
    await this.#session.callWithPassword('DeleteMultisig', { address }, options)
  }

  /**
   * Signs a transaction (msgpack) and returns the signed transaction (msgpack).
   *
   * @example
   * const signed = await wallet.signTransaction(transaction.toByte())
   */
  async signTransaction(
    transaction: Uint8Array,
    { publicKey, ...options }: SignTransactionOptions = {},
  ): Promise<Uint8Array> {
    const operation = 'SignTransaction'
    const members = {
      transaction: Bytes.toBase64(toBytes(transaction, 'the transaction', operation)),
      public_key: publicKey === undefined ? undefined : toPublicKey(publicKey, operation),
    }
    return (await this.#session.callWithPassword(operation, members, options)).signedTransaction
  }

  /** Signs a program and returns the 64-byte signature that delegates the account to the program. */
  async signProgram({ address, program, ...options }: SignProgramOptions): Promise<Uint8Array> {
    const operation = 'SignProgram'
    const members = { address, data: Bytes.toBase64(toBytes(program, 'the program', operation)) }
    const { sig } = await this.#session.callWithPassword(operation, members, options)
    return ofLength(signatureLength, sig, operation, 'sig')
  }

  /**
   * Signs a receipt of the x402 extension `offer-receipt`, and returns it as a compact JWS with EdDSA. The daemon makes
   * the signed text, which is valid for nothing else.
   */
  async signReceipt(options: SignReceiptOptions): Promise<string> {
    const { address, network, resourceUrl, payer, transaction = '', ...rest } = options
    const members = { address, network, resource_url: resourceUrl, payer, transaction_id: transaction }
    return (await this.#session.callWithPassword('SignReceipt', members, rest)).receipt
  }

  /**
   * Signs an offer of the x402 extension `offer-receipt`, and returns it as a compact JWS with EdDSA. The daemon makes the
   * signed text, which is valid for nothing else.
   */
  async signOffer(options: SignOfferOptions): Promise<string> {
    const { address, resourceUrl, scheme, network, asset, payTo, amount, validUntil, ...rest } = options
    const terms = { scheme, network, asset, pay_to: payTo, amount, valid_until: validUntil }
    const members = { address, resource_url: resourceUrl, ...terms }
    return (await this.#session.callWithPassword('SignOffer', members, rest)).offer
  }

  /** Signs a transaction for one member and returns the partial signature (msgpack): the next member's `partial`. */
  async signMultisigTransaction({
    transaction,
    publicKey,
    partial,
    signer,
    ...options
  }: SignMultisigTransactionOptions): Promise<Uint8Array> {
    const operation = 'SignMultisigTransaction'
    const members = {
      transaction: Bytes.toBase64(toBytes(transaction, 'the transaction', operation)),
      public_key: toPublicKey(publicKey, operation),
      partial_multisig: partial === undefined ? undefined : toPartial(partial, operation),
      signer: signer === undefined ? undefined : toPublicKey(signer, operation),
    }
    return (await this.#session.callWithPassword(operation, members, options)).multisig
  }

  /** Signs a program for one member and returns the partial signature (msgpack): the next member's `partial`. */
  async signMultisigProgram({
    address,
    program,
    publicKey,
    partial,
    useLegacyMultisig = false,
    ...options
  }: SignMultisigProgramOptions): Promise<Uint8Array> {
    const operation = 'SignMultisigProgram'
    const members = {
      address,
      data: Bytes.toBase64(toBytes(program, 'the program', operation)),
      public_key: toPublicKey(publicKey, operation),
      partial_multisig: partial === undefined ? undefined : toPartial(partial, operation),
      // Daemons before version 4.3 reject this member's name.
      use_legacy_msig: useLegacyMultisig ? true : undefined,
    }
    return (await this.#session.callWithPassword(operation, members, options)).multisig
  }

  /** Releases the handle. Later calls fail with `wallet_released`. */
  release(options: CallOptions = {}): Promise<void> {
    return this.#session.release(options)
  }

  /** Releases the wallet at the end of an `await using` scope. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }
}

function ofLength(length: number, bytes: Uint8Array, operation: Operation, name: string): Uint8Array {
  return bytes.length === length ? bytes : invalidResponse(operation, name)
}

function toBytes(value: Uint8Array, what: string, operation: Operation): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw invalid(`${what} must be bytes (a Uint8Array)`, operation)
}

/** Rejects keys of other lengths here, because some daemons truncate or pad them. */
function toPublicKey(key: PublicKey, operation: Operation): string {
  if (typeof key === 'string' && Address.isValid(key)) return Bytes.toBase64(Address.decode(key))
  if (key instanceof Uint8Array && key.length === publicKeyLength) return Bytes.toBase64(key)
  throw invalid('a public key must be 32 bytes, or a valid address', operation)
}

/** The form that every daemon accepts. */
function toPartial(partial: PartialMultisig, operation: Operation): Members {
  try {
    const { v, thr, subsig } = partial instanceof Uint8Array ? Multisig.decode(partial) : partial
    return { subsig: subsig.map((slot) => toSubsig(slot)), thr, v }
  } catch (cause) {
    const message =
      'partial must be a multisig signature: the result of signing for another member, or its decoded form'
    throw new KmdClientError('invalid_argument', message, { operation, cause })
  }
}

function toSubsig({ pk, s }: Multisig.Subsignature): Members {
  if (pk.length !== publicKeyLength || (s !== undefined && s.length !== signatureLength)) {
    throw new RangeError('a public key has 32 bytes and a signature 64')
  }
  return s === undefined ? { pk: Bytes.toBase64(pk) } : { pk: Bytes.toBase64(pk), s: Bytes.toBase64(s) }
}

function invalid(message: string, operation: Operation): KmdClientError {
  return new KmdClientError('invalid_argument', message, { operation })
}

/** An unlocked wallet and what can be done with its keys. */
import * as Body from './Body.js'
import type { CallOptions } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import * as MultisigSignature from './MultisigSignature.js'
import type { Operation } from './Operations.js'
import * as PublicKey from './PublicKey.js'
import type { PasswordOptions, Session } from './Session.js'
import * as WalletInfo from './WalletInfo.js'

export type MultisigPreimage = {
  version: number
  threshold: number
  publicKeys: Uint8Array[]
}

export type ImportMultisigOptions = CallOptions & {
  /** 1 unless told. */
  version?: number | undefined
  /** How many signatures the address asks for. */
  threshold: number
  /** The members; their order counts. */
  publicKeys: readonly PublicKey.PublicKey[]
}

export type SignTransactionOptions = PasswordOptions & {
  /** The key to sign with, where it is not the sender's: an account that was rekeyed. */
  publicKey?: PublicKey.PublicKey | undefined
}

export type SignProgramOptions = PasswordOptions & { address: string; program: Uint8Array }

/** What signing answered the member before with, or the same as an object. Absent to start with the stored preimage. */
export type Partial = Uint8Array | MultisigSignature.MultisigSignature

export type SignMultisigTransactionOptions = PasswordOptions & {
  transaction: Uint8Array
  /** The member to sign for. */
  publicKey: PublicKey.PublicKey
  partial?: Partial | undefined
  /** The multisig address, where the sender was rekeyed to it. */
  signer?: PublicKey.PublicKey | undefined
}

export type SignMultisigProgramOptions = PasswordOptions & {
  /** Of the multisig. */
  address: string
  program: Uint8Array
  publicKey: PublicKey.PublicKey
  partial?: Partial | undefined
  /** Sign as daemons before version 4.3 did. */
  useLegacyMultisig?: boolean | undefined
}

const seedLength = 32
const privateKeyLength = 64
const masterKeyLength = 32
const signatureLength = 64
const publicKeyLength = 32

/** Made by `kmd.unlock`. Release it when it is no longer needed; left alone, it ends by itself. */
export class Wallet {
  readonly #session: Session

  /** @internal */
  constructor(session: Session) {
    this.#session = session
  }

  get id(): string {
    return this.#session.wallet.id
  }

  get name(): string {
    return this.#session.wallet.name
  }

  /** Also tells how long the handle lives, after it was renewed if that was due. */
  async info(options: CallOptions = {}): Promise<WalletInfo.WalletInfo & { expiresSeconds: number }> {
    const answer = await this.#session.call('GetWalletInfo', {}, options)
    const handle = answer.object('wallet_handle')
    return { ...WalletInfo.read(handle.object('wallet')), expiresSeconds: handle.integer('expires_seconds') }
  }

  rename(name: string, options: PasswordOptions = {}): Promise<WalletInfo.WalletInfo> {
    return this.#session.rename(name, options)
  }

  /** The backup of every generated key, but not of imported ones. */
  async masterDerivationKey(options: PasswordOptions = {}): Promise<Uint8Array> {
    const answer = await this.#session.callWithPassword('ExportMasterKey', {}, options)
    return answer.bytes('master_derivation_key', masterKeyLength)
  }

  /** The addresses of all keys, in the order of their bytes. */
  async keys(options: CallOptions = {}): Promise<string[]> {
    return (await this.#session.call('ListKeysInWallet', {}, options)).texts('addresses')
  }

  /** The address of the next key in the sequence that the master derivation key determines. */
  async generateKey(options: CallOptions = {}): Promise<string> {
    return (await this.#session.call('GenerateKey', {}, options)).text('address')
  }

  /** Seed and public key, 64 bytes, or the 32 bytes of the seed alone. */
  async importKey(privateKey: Uint8Array, options: CallOptions = {}): Promise<string> {
    const operation = 'ImportKey'
    const length = toBytes(privateKey, 'the private key', operation).length
    if (length !== seedLength && length !== privateKeyLength) {
      throw argument(
        `a private key has ${privateKeyLength} bytes, or ${seedLength} as a seed, not ${length}`,
        operation,
      )
    }
    const answer = await this.#session.call(operation, { private_key: Body.base64(privateKey) }, options)
    return answer.text('address')
  }

  /** Seed and public key, 64 bytes. They are the caller's, to wipe. */
  async exportKey(address: string, options: PasswordOptions = {}): Promise<Uint8Array> {
    const answer = await this.#session.callWithPassword('ExportKey', { address }, options)
    return answer.bytes('private_key', privateKeyLength)
  }

  /** Succeeds also when there is no such key. */
  async deleteKey(address: string, options: PasswordOptions = {}): Promise<void> {
    await this.#session.callWithPassword('DeleteKey', { address }, options)
  }

  /** The addresses of all multisig accounts whose preimages the wallet holds. */
  async multisigs(options: CallOptions = {}): Promise<string[]> {
    return (await this.#session.call('ListMultisig', {}, options)).texts('addresses')
  }

  async importMultisig({ version = 1, threshold, publicKeys, ...options }: ImportMultisigOptions): Promise<string> {
    const operation = 'ImportMultisig'
    const pks = publicKeys.map((key) => toPublicKey(key, operation))
    const members = { multisig_version: version, threshold, pks }
    return (await this.#session.call(operation, members, options)).text('address')
  }

  async exportMultisig(address: string, options: CallOptions = {}): Promise<MultisigPreimage> {
    const answer = await this.#session.call('ExportMultisig', { address }, options)
    return {
      version: answer.integer('multisig_version'),
      threshold: answer.integer('threshold'),
      publicKeys: answer.bytesList('pks', publicKeyLength),
    }
  }

  /** Succeeds also when there is no such preimage. */
  async deleteMultisig(address: string, options: PasswordOptions = {}): Promise<void> {
    await this.#session.callWithPassword('DeleteMultisig', { address }, options)
  }

  /** From the msgpack of a transaction to the msgpack of the signed one. */
  async signTransaction(
    transaction: Uint8Array,
    { publicKey, ...options }: SignTransactionOptions = {},
  ): Promise<Uint8Array> {
    const operation = 'SignTransaction'
    const members = {
      transaction: Body.base64(toBytes(transaction, 'the transaction', operation)),
      public_key: publicKey === undefined ? undefined : toPublicKey(publicKey, operation),
    }
    return (await this.#session.callWithPassword(operation, members, options)).bytes('signed_transaction')
  }

  /** The signature, 64 bytes, that lets the program act for the address. */
  async signProgram({ address, program, ...options }: SignProgramOptions): Promise<Uint8Array> {
    const operation = 'SignProgram'
    const members = { address, data: Body.base64(toBytes(program, 'the program', operation)) }
    return (await this.#session.callWithPassword(operation, members, options)).bytes('sig', signatureLength)
  }

  /** The msgpack of the multisig signature so far: the `partial` for the next member. */
  async signMultisigTransaction({
    transaction,
    publicKey,
    partial,
    signer,
    ...options
  }: SignMultisigTransactionOptions): Promise<Uint8Array> {
    const operation = 'SignMultisigTransaction'
    const members = {
      transaction: Body.base64(toBytes(transaction, 'the transaction', operation)),
      public_key: toPublicKey(publicKey, operation),
      partial_multisig: partial === undefined ? undefined : toPartial(partial, operation),
      signer: signer === undefined ? undefined : toPublicKey(signer, operation),
    }
    return (await this.#session.callWithPassword(operation, members, options)).bytes('multisig')
  }

  /** The msgpack of the multisig signature so far: the `partial` for the next member. */
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
      data: Body.base64(toBytes(program, 'the program', operation)),
      public_key: toPublicKey(publicKey, operation),
      partial_multisig: partial === undefined ? undefined : toPartial(partial, operation),
      // Daemons before version 4.3 refuse the very name.
      use_legacy_msig: useLegacyMultisig ? true : undefined,
    }
    return (await this.#session.callWithPassword(operation, members, options)).bytes('multisig')
  }

  /** Ends the handle. Any call after that fails. */
  release(options: CallOptions = {}): Promise<void> {
    return this.#session.release(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }
}

function toBytes(value: Uint8Array, what: string, operation: Operation): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw argument(`${what} must be bytes (a Uint8Array)`, operation)
}

function toPublicKey(key: PublicKey.PublicKey, operation: Operation): string {
  const bytes = PublicKey.bytes(key)
  if (bytes === undefined)
    throw argument('a public key must be 32 bytes, or an address that is spelled right', operation)
  return Body.base64(bytes)
}

function toPartial(partial: Partial, operation: Operation): Body.Members {
  const signature = partial instanceof Uint8Array ? MultisigSignature.decode(partial) : partial
  const members = signature === undefined ? undefined : MultisigSignature.write(signature)
  if (members === undefined) {
    throw argument(
      'partial must be a multisig signature: what signing answered with, or the same as an object',
      operation,
    )
  }
  return members
}

function argument(message: string, operation: Operation): KmdClientError {
  return new KmdClientError(message, { operation, reason: 'argument' })
}

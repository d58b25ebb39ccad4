/** Signers sign transactions for an address. The keys stay where they are. */
import { Address, Bytes, Ed25519, Mnemonic, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'
import { UptoError, type UptoPayload, UptoPayment } from '@latchkey/x402-wire'
import { isAddress } from '../chain/Chain.js'
import { PartyError } from '../errors.js'

/**
 * The purpose of a signature. The URL is claimed by the caller and the description by the seller; neither is confirmed.
 */
export type SigningPurpose = {
  /** The URL of the paid resource. */
  readonly url?: string | undefined
  readonly description?: string | undefined
  /** Aborts the wait for an approval. */
  readonly signal?: AbortSignal | undefined
}

/** Signs transactions for an address. */
export type Signer = {
  /** The address of the key that signs. */
  readonly address: string
  /** Takes the canonical bytes of a transaction and returns the signed transaction. */
  readonly sign: (transaction: Uint8Array, purpose?: SigningPurpose) => Promise<Uint8Array> | Uint8Array
  /**
   * The account that pays, if it is rekeyed to `address`.
   *
   * @default address
   */
  readonly sender?: string | undefined
  /**
   * Rejects if the signer cannot sign now, for example because the key is missing or the key daemon is not reachable.
   *
   * @default a trial signature of a transaction that no ledger accepts
   */
  readonly check?: (() => Promise<void>) | undefined
  /**
   * Signs the program of an authorization for a price by usage, and returns the signature. Builds the program from the
   * terms: a signer never signs a program that it is given.
   *
   * @default offers of the scheme `upto` are not paid
   */
  readonly signUpto?:
    | ((authorization: UptoPayment.UnsignedAuthorization, purpose?: SigningPurpose) => Promise<Uint8Array> | Uint8Array)
    | undefined
}

/** Options of the signers that hold a key in this process. */
export type KeyOptions = {
  /**
   * The account that pays, if it is rekeyed to the address of the key.
   *
   * @default the address of the key
   */
  sender?: string
}

/**
 * Creates a signer from the 25 words of an account. Only the key is kept, in this process.
 *
 * @throws MnemonicError of `@latchkey/algorand` for words that are not a mnemonic
 */
export function fromMnemonic(mnemonic: string, options: KeyOptions = {}): Signer {
  // An unset environment variable is not a mnemonic.
  const seed = Mnemonic.decode(mnemonic ?? '')
  try {
    return fromSeed(seed, options)
  } finally {
    seed.fill(0)
  }
}

/**
 * Creates a signer from a secret key in base64: 32 bytes of seed, then the public key.
 *
 * @throws {@link SignerError}
 */
export function fromSecretKey(base64: string, options: KeyOptions = {}): Signer {
  const bytes = Bytes.fromBase64((base64 ?? '').trim())
  if (bytes?.length !== 64) throw new SignerError('invalid_secret_key', 'the secret key is not 64 bytes in base64')
  try {
    const signer = fromSeed(bytes.subarray(0, 32), options)
    if (Bytes.equal(Address.decode(signer.address), bytes.subarray(32))) return signer
    throw new SignerError('invalid_secret_key', 'the public key does not belong to the seed')
  } finally {
    bytes.fill(0)
  }
}

/** Creates a signer from a 32-byte seed. The caller may erase the seed afterwards. */
export function fromSeed(seed: Uint8Array, { sender }: KeyOptions = {}): Signer {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  const address = Address.encode(publicKey)
  const attach = (canonical: Uint8Array, account: Uint8Array): Uint8Array => {
    const signature = Ed25519.sign(Transaction.bytesToSign(canonical), secretKey)
    return SignedTransaction.attach(canonical, account, signature, publicKey)
  }
  const sign = (bytes: Uint8Array): Uint8Array => {
    const canonical = Transaction.canonicalize(bytes)
    return attach(canonical.bytes, canonical.sender)
  }
  const signUpto = (authorization: UptoPayment.UnsignedAuthorization): Uint8Array => {
    UptoPayment.checkUnsigned(authorization, sender ?? address)
    return Ed25519.sign(UptoPayment.bytesToSign(authorization), secretKey)
  }
  ownSigners.set(sign, { address, attach })
  return { address, sender, sign, signUpto }
}

type OwnSigner = {
  readonly address: string
  readonly attach: (canonical: Uint8Array, account: Uint8Array) => Uint8Array
}

/**
 * The signers that hold a key in this process, by their `sign` function. Their output is made here from the signed
 * bytes and needs no check: parsing it and verifying its signature would take three times as long as signing.
 */
const ownSigners = new WeakMap<Signer['sign'], OwnSigner>()

/**
 * Returns the account that a signer pays from.
 *
 * @throws {@link SignerError}
 */
export function checkSender(signer: Pick<Signer, 'address' | 'sender'> | undefined): string {
  const { address, sender = address } = signer ?? {}
  if (isAddress(address) && isAddress(sender)) return sender
  const name = isAddress(address) ? 'sender' : 'address'
  throw new SignerError('invalid_signer_address', `the signer's ${name} is not set, or is not an Algorand address`)
}

/**
 * Encodes and signs a transaction. The signature is checked unless it was made by a key in this process.
 *
 * @throws {@link SignerError}
 */
export async function signTransaction(
  signer: Signer,
  txn: Transaction.Transaction,
  purpose?: SigningPurpose,
): Promise<Uint8Array> {
  return signCanonical(signer, { bytes: Transaction.encode(txn), sender: txn.snd }, purpose)
}

/**
 * Signs a transaction that is already encoded. The signature is checked unless it was made by a key in this process.
 *
 * @throws {@link SignerError}
 */
export async function signCanonical(
  signer: Signer,
  { bytes, sender }: Transaction.Canonical,
  purpose?: SigningPurpose,
): Promise<Uint8Array> {
  const own = ownSigners.get(signer.sign)
  // A copy of a signer may have another address. The check refuses such a signer.
  const isOwn = own !== undefined && own.address === signer.address
  return isOwn ? own.attach(bytes, sender) : signChecked(signer, bytes, purpose)
}

/**
 * Signs the canonical bytes of a transaction. The result must be that transaction, validly signed for the address of
 * the signer. Anything else must not leave this process.
 *
 * @throws {@link SignerError}
 */
export async function signChecked(
  signer: Signer,
  transaction: Uint8Array,
  purpose?: SigningPurpose,
): Promise<Uint8Array> {
  const signed = await signer.sign(transaction, purpose)
  const { signed: decoded, transactionBytes } = decode(signed)
  if (!Bytes.equal(transactionBytes, transaction)) {
    throw new SignerError('invalid_signature', 'the signer signed a different transaction from the one it was given')
  }
  const { txn, sig, msig, sgnr } = decoded
  const authorizer = sgnr ?? txn.snd
  if (Address.encode(authorizer) !== signer.address) {
    const message = `the signer signed as ${Address.encode(authorizer)}, not as ${signer.address}`
    throw new SignerError('invalid_signature', message)
  }
  const message = Transaction.bytesToSign(transaction)
  const isValid = msig === undefined ? isSignature(sig, message, authorizer) : isMultisig(msig, message, authorizer)
  if (!isValid) throw new SignerError('invalid_signature', 'the signer returned an invalid signature')
  return signed
}

/**
 * Signs an authorization for a price by usage, and returns its payload. The signature is checked.
 *
 * @throws {@link SignerError}
 */
export async function signAuthorization(
  signer: Signer,
  authorization: UptoPayment.UnsignedAuthorization,
  purpose?: SigningPurpose,
): Promise<UptoPayload> {
  if (signer.signUpto === undefined) {
    throw new SignerError('invalid_signature', 'the signer does not sign authorizations of the scheme upto')
  }
  const signature = await signer.signUpto(authorization, purpose)
  const payload = UptoPayment.toPayload(authorization, signature, signer.address)
  try {
    UptoPayment.read(payload)
  } catch (error) {
    if (!(error instanceof UptoError)) throw error
    throw new SignerError('invalid_signature', 'the signer returned an invalid signature', { cause: error })
  }
  return payload
}

function decode(signed: Uint8Array): SignedTransaction.Decoded {
  try {
    return SignedTransaction.decodeFirst(signed)
  } catch (error) {
    throw new SignerError('invalid_signature', 'the signer did not return a signed transaction', { cause: error })
  }
}

function isSignature(sig: Uint8Array | undefined, message: Uint8Array, authorizer: Uint8Array): boolean {
  return sig !== undefined && Ed25519.verify(sig, message, authorizer)
}

function isMultisig(msig: Multisig.Signature, message: Uint8Array, authorizer: Uint8Array): boolean {
  try {
    return Bytes.equal(Multisig.address(Multisig.preimage(msig)), authorizer) && Multisig.verify(msig, message)
  } catch (error) {
    if (error instanceof Multisig.MultisigError) return false
    throw error
  }
}

/** A key that cannot be read, or a signer that does not sign correctly. */
export class SignerError extends PartyError<
  | 'invalid_secret_key'
  | 'invalid_signer_address'
  | 'invalid_signature'
  | 'signer_key_missing'
  | 'signer_timeout'
  | 'account_rekeyed'
> {
  override name = 'SignerError'
}

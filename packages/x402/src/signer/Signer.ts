/** Who can sign a transaction for an address. Keys stay where they are. */
import { Address, Bytes, Ed25519, Mnemonic, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'

export type Signer = {
  readonly address: string
  /** Canonical bytes of a transaction in, the signed transaction out. */
  readonly sign: (transaction: Uint8Array) => Promise<Uint8Array> | Uint8Array
  /** The account that is paid from, if it was rekeyed to the signer's address. */
  readonly sender?: string | undefined
}

/** The words are read once and only the key kept, in this process. */
export function fromMnemonic(words: string, options: { sender?: string } = {}): Signer {
  const seed = Mnemonic.decode(words)
  try {
    return fromSeed(seed, options)
  } finally {
    seed.fill(0)
  }
}

/** Base64 of the seed followed by the public key, which must belong together. */
export function fromSecretKey(base64: string, options: { sender?: string } = {}): Signer {
  const text = base64.trim()
  if (!/^[A-Za-z0-9+/]{86}==$/.test(text)) {
    throw new SignerError('a key is 64 bytes in base64: the seed, then the public key')
  }
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  try {
    const signer = fromSeed(bytes.subarray(0, 32), options)
    if (Bytes.equal(Address.decode(signer.address), bytes.subarray(32))) return signer
    throw new SignerError('the public key in this key is not that of its seed')
  } finally {
    bytes.fill(0)
  }
}

export function fromSeed(seed: Uint8Array, { sender }: { sender?: string } = {}): Signer {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return {
    address: Address.encode(publicKey),
    sender,
    sign: (bytes) => {
      const canonical = Transaction.canonicalize(bytes)
      const signature = Ed25519.sign(Transaction.bytesToSign(canonical.bytes), secretKey)
      return SignedTransaction.attach(canonical.bytes, canonical.sender, signature, publicKey)
    },
  }
}

export function signTransaction(signer: Signer, txn: Transaction.Transaction): Promise<Uint8Array> {
  return signChecked(signer, Transaction.encode(txn))
}

/** A signature that is not over what was asked, or by somebody else, must not leave this process. */
export async function signChecked(signer: Signer, transaction: Uint8Array): Promise<Uint8Array> {
  const signed = await signer.sign(transaction)
  const { txn, sig, msig, sgnr } = decode(signed)
  if (!Bytes.equal(Transaction.encode(txn), transaction)) {
    throw new SignerError('the signer signed another transaction than it was given')
  }
  const authorizer = sgnr ?? txn.snd
  if (Address.encode(authorizer) !== signer.address) {
    throw new SignerError(`the signer signed as ${Address.encode(authorizer)}, not as ${signer.address}`)
  }
  const message = Transaction.bytesToSign(transaction)
  const holds = msig === undefined ? isSignature(sig, message, authorizer) : isMultisig(msig, message, authorizer)
  if (!holds) throw new SignerError('the signer gave a signature that does not hold')
  return signed
}

function decode(signed: Uint8Array): SignedTransaction.SignedTransaction {
  try {
    return SignedTransaction.decode(signed)
  } catch (error) {
    throw new SignerError('what the signer gave is not a signed transaction', { cause: error })
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

export class SignerError extends Error {
  override name = 'Signer.SignerError'
}

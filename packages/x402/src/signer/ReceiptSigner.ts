/** Signers of receipts and offers: a seller's statements, with one of its keys, on payments and prices. */
import { Address, Ed25519, Mnemonic, SignedOffer, SignedReceipt } from '@latchkey/algorand'
import { Kmd, type Wallet } from '@latchkey/kmd-client'
import type { KmdSignerOptions } from './Kmd.js'
import { checkSender } from './Signer.js'

/** The parts of a receipt that the gate knows. The signer adds the time. */
export type ReceiptFields = Omit<SignedReceipt.Receipt, 'issuedAt'>

/** Signs receipts. The key stays where it is. */
export type ReceiptSigner = {
  /** The address of the key that signs. A key that receives no payments is safer than the one that is paid. */
  readonly address: string
  /** Returns the receipt as a compact JWS. */
  readonly sign: (fields: ReceiptFields) => Promise<string> | string
  /**
   * Returns an offer as a compact JWS.
   *
   * @default the key signs receipts alone
   */
  readonly signOffer?: ((offer: SignedOffer.Offer) => Promise<string> | string) | undefined
}

/**
 * Creates a signer of receipts from the 25 words of an account. Only the key is kept, in this process.
 *
 * @throws MnemonicError of `@latchkey/algorand` for words that are not a mnemonic
 */
export function fromMnemonic(mnemonic: string): ReceiptSigner {
  const seed = Mnemonic.decode(mnemonic ?? '')
  try {
    return fromSeed(seed)
  } finally {
    seed.fill(0)
  }
}

/** Creates a signer of receipts from a 32-byte seed. The caller may erase the seed afterwards. */
export function fromSeed(seed: Uint8Array): ReceiptSigner {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return {
    address: Address.encode(publicKey),
    sign: (fields) => {
      const issuedAt = Math.floor(Date.now() / 1_000)
      const bytes = SignedReceipt.bytesToSign(publicKey, { ...fields, issuedAt })
      return SignedReceipt.attach(bytes, Ed25519.sign(bytes, secretKey))
    },
    signOffer: (offer) => {
      const bytes = SignedOffer.bytesToSign(publicKey, offer)
      return SignedOffer.attach(bytes, Ed25519.sign(bytes, secretKey))
    },
  }
}

/**
 * Creates a signer of receipts whose key stays in the key daemon. The daemon makes the signed text itself, so the
 * signature is valid for nothing else.
 *
 * @throws SignerError for an address that is not set or not valid
 */
export function fromKmd({ kmd, wallet, password, address }: Omit<KmdSignerOptions, 'sender'>): ReceiptSigner {
  checkSender({ address })
  let opening: Promise<Wallet> | undefined
  const open = async (): Promise<Wallet> => {
    const daemon = await Kmd.connect(kmd)
    return daemon.unlock({ name: wallet, password: typeof password === 'function' ? password : () => password })
  }
  const opened = (): Promise<Wallet> => {
    opening ??= open().catch((error: unknown) => {
      // The daemon may be running by the next time.
      opening = undefined
      throw error
    })
    return opening
  }
  return {
    address,
    sign: async (fields) => (await opened()).signReceipt({ address, ...fields }),
    signOffer: async (offer) => (await opened()).signOffer({ address, ...offer }),
  }
}

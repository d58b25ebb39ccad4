/** Describes the subjects of recorded operations: wallets, keys and signed data. */
import { Address } from '@latchkey/algorand'
import { programFacts, type SignedFacts, transactionFacts } from '../activity/SignatureLog.js'
import type { Context } from '../api/Context.js'
import { canonicalize } from '../api/signing.js'
import type { Subject } from './AuditChain.js'

type Handle = { readonly wallet_handle_token: string }
type WalletId = { readonly wallet_id: string }

/** Bytes of a name or an id as text. */
export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

export function nothing(): Subject {
  return {}
}

export function byHandle({ handles }: Context, input: Handle): Subject {
  return { wallet: text(handles.wallet(input.wallet_handle_token).id) }
}

export function byHandleAndAddress(context: Context, input: Handle & { readonly address: string }): Subject {
  return { ...byHandle(context, input), address: input.address }
}

export function byId(_context: Context, input: WalletId): Subject {
  return { wallet: input.wallet_id }
}

/** Adds the wallet's name before the operation. */
export async function byIdAndName({ wallets }: Context, input: WalletId): Promise<Subject> {
  const { name } = await wallets.find(input.wallet_id)
  return { wallet: input.wallet_id, detail: { wallet_name: text(name) } }
}

/** The address that an operation returned. */
export function newAddress(_input: unknown, output: { readonly address: string }): Subject {
  return { address: output.address }
}

/** A transaction that a wallet signs, with the key that signs it. */
export function signedTransaction(
  context: Context,
  input: Handle & { readonly transaction: Uint8Array },
  signerOf: (sender: Uint8Array) => Uint8Array,
): Subject {
  const { bytes, sender } = canonicalize(input.transaction)
  return withSigner({ ...byHandle(context, input), ...signed(transactionFacts(bytes)) }, signerOf(sender))
}

/** A program that a wallet signs. */
export function signedProgram(
  context: Context,
  input: Handle & { readonly address: string; readonly data: Uint8Array },
): Subject {
  return { ...byHandle(context, input), ...signed(programFacts(input.data, Address.decode(input.address))) }
}

export function withSigner(subject: Subject, publicKey: Uint8Array): Subject {
  return publicKey.length === 32 ? { ...subject, address: Address.encode(publicKey) } : subject
}

/** Amounts in the smallest unit, as decimal text. Members that a type does not have are omitted. */
function signed(facts: SignedFacts): Subject {
  const { transactionId, program, type, sender, receiver, amount, assetId, feeMicroAlgos } = facts
  const detail = {
    ...{ type, sender, amount: `${amount}`, asset_id: `${assetId}`, fee_micro_algos: `${feeMicroAlgos}` },
    ...(receiver !== '' && { receiver }),
    ...(program !== '' && { program }),
  }
  return { ...(transactionId !== '' && { transaction: transactionId }), detail }
}

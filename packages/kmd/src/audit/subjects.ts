/** Describes the subjects of recorded operations: wallets and keys. */
import type { Context } from '../api/Context.js'
import type { Subject } from './AuditChain.js'

export type Handle = { readonly wallet_handle_token: string }
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

/** A transaction with its signatures, as nodes take it: built around bytes that the daemon made. */
import * as Address from './address.js'
import { concat } from './bytes.js'
import { read, type Value } from './msgpack.js'

export type Slot = { publicKey: Uint8Array; signature: Uint8Array | undefined }
export type MultisigSoFar = { version: number; threshold: number; slots: readonly Slot[] }

const most = 16

/** The bytes of each transaction in what was pasted. One piece with all of it where they cannot be told apart. */
export function split(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  try {
    for (let at = 0; at < bytes.length; ) {
      const { end } = read(bytes, at)
      parts.push(bytes.subarray(at, end))
      at = end
      if (parts.length > most) break
    }
    return parts
  } catch {
    return [bytes]
  }
}

/** The multisig signature that a pasted transaction brings with it, which more members may add to. */
export function multisigIn(transaction: Uint8Array): MultisigSoFar | undefined {
  try {
    const { value } = read(transaction)
    const multisig = value instanceof Map ? value.get('msig') : undefined
    return multisig === undefined ? undefined : toMultisig(multisig)
  } catch {
    return undefined
  }
}

/** What signing as a member answers. */
export function readMultisig(bytes: Uint8Array): MultisigSoFar {
  return toMultisig(read(bytes).value)
}

export type MultisigEnvelope = { transaction: Uint8Array; sender: string; multisig: Uint8Array; account: string }

/** Names in their order: msig, sgnr, txn. The account is named where it is not the sender, who was then rekeyed to it. */
export function withMultisig({ transaction, sender, multisig, account }: MultisigEnvelope): Uint8Array {
  const isRekeyed = account !== sender
  return concat([
    Uint8Array.of(isRekeyed ? 0x83 : 0x82),
    name('msig'),
    multisig,
    ...(isRekeyed ? [name('sgnr'), Uint8Array.of(0xc4, 32), Address.decode(account)] : []),
    name('txn'),
    transaction,
  ])
}

/** In the same form, with nobody's signature: how files of groups carry those that others are to sign. */
export function unsigned(transaction: Uint8Array): Uint8Array {
  return concat([Uint8Array.of(0x81), name('txn'), transaction])
}

function name(text: string): Uint8Array {
  return concat([Uint8Array.of(0xa0 | text.length), new TextEncoder().encode(text)])
}

function toMultisig(value: Value): MultisigSoFar {
  if (!(value instanceof Map)) throw new RangeError('no multisig')
  const subsigs = (value.get('subsig') ?? []) as readonly Value[]
  return {
    version: Number(value.get('v') ?? 1n),
    threshold: Number(value.get('thr') ?? 0n),
    slots: subsigs.map((slot) => {
      const members = slot as ReadonlyMap<string, Value>
      return {
        publicKey: members.get('pk') as Uint8Array,
        signature: members.get('s') as Uint8Array | undefined,
      }
    }),
  }
}

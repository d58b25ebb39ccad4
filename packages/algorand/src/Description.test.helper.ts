/** Accounts and a transaction to describe. */
import * as Address from './Address.js'
import * as Description from './Description.js'
import * as Ed25519 from './Ed25519.js'
import * as Network from './Network.js'
import * as Transaction from './Transaction.js'

export const [alice, bob, carol] = [1, 2, 3].map((fill) => Ed25519.publicKey(new Uint8Array(32).fill(fill))) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
export const [A, B, C] = [alice, bob, carol].map(Address.encode) as [string, string, string]
export const zero = Address.encode(new Uint8Array(32))
export const hash = (network: Network.Network): Uint8Array => new Uint8Array(Buffer.from(network.genesisHash, 'base64'))
export const header = { snd: alice, fee: 1000n, fv: 1n, lv: 1001n, gen: 'testnet-v1.0', gh: hash(Network.testnet) }

/** Encodes and decodes first, because transactions arrive encoded. */
export function describe(
  members: Partial<Transaction.Transaction>,
  options?: Description.Options,
): Description.Description {
  const given = { ...header, type: 'pay', ...members } as Transaction.Transaction
  return Description.describe(Transaction.decode(Transaction.encode(given)), options)
}

export const firstLine = (members: Partial<Transaction.Transaction>, options?: Description.Options): string =>
  describe(members, options).lines[0]!

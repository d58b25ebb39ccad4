/** Transactions in the JSON of nodes: the names of the wire format, addresses as text, bytes in base64. */
import { Address, Bytes, Json, Transaction } from '@latchkey/algorand'

type Reader = (value: unknown) => unknown

const uint: Reader = (value) => Json.uint64(value)
const text: Reader = (value) => (typeof value === 'string' ? value : undefined)
const flag: Reader = (value) => (typeof value === 'boolean' ? value : undefined)
const base64: Reader = (value) => (typeof value === 'string' ? Bytes.fromBase64(value) : undefined)
const address: Reader = (value) =>
  typeof value === 'string' && Address.isValid(value) ? Address.decode(value) : undefined
const number: Reader = (value) => (typeof value === 'number' ? value : undefined)
const listOf =
  (read: Reader): Reader =>
  (value) =>
    Array.isArray(value) ? value.map(read) : undefined
const objectOf =
  (readers: { readonly [name: string]: Reader }): Reader =>
  (value) =>
    Json.isObject(value) ? readMembers(value, readers) : undefined

const schema = objectOf({ nui: uint, nbs: uint })

/** State proofs and heartbeats are not supported, because no account sends them. */
const fields: { readonly [name: string]: Reader } = {
  ...{ type: text, snd: address, fee: uint, fv: uint, lv: uint, note: base64, gen: text, gh: base64, grp: base64 },
  ...{ lx: base64, rekey: address, votekey: base64, selkey: base64, sprfkey: base64, votefst: uint, votelst: uint },
  ...{ votekd: uint, nonpart: flag, rcv: address, amt: uint, close: address, caid: uint },
  apar: objectOf({
    ...{ t: uint, dc: number, df: flag, un: text, an: text, au: text, am: base64 },
    ...{ m: address, r: address, f: address, c: address },
  }),
  ...{ xaid: uint, aamt: uint, asnd: address, arcv: address, aclose: address, fadd: address, faid: uint, afrz: flag },
  ...{ apid: uint, apan: uint, apaa: listOf(base64), apat: listOf(address), apfa: listOf(uint), apas: listOf(uint) },
  apbx: listOf(objectOf({ i: uint, n: base64 })),
  ...{ apls: schema, apgs: schema, apap: base64, apsu: base64, apep: number },
}

/**
 * Returns the transaction with the given id, and undefined for anything else. The transaction is encoded again to
 * detect a node that omits something, adds something or lies.
 */
export function decodeTransaction(value: unknown, transactionId: string): Transaction.Transaction | undefined {
  if (!Json.isObject(value)) return undefined
  const transaction = readMembers(value, fields) as Transaction.Transaction
  try {
    return Transaction.id(transaction) === transactionId ? transaction : undefined
  } catch (error) {
    if (error instanceof Transaction.EncodeError) return undefined
    throw error
  }
}

/** Ignores unknown members: the id reveals whether one was missed. */
function readMembers(members: Json.Members, readers: { readonly [name: string]: Reader }): { [name: string]: unknown } {
  const read: { [name: string]: unknown } = {}
  for (const [name, reader] of Object.entries(readers)) {
    if (Object.hasOwn(members, name)) read[name] = reader(members[name])
  }
  return read
}

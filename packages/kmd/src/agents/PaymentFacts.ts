/**
 * Describes an agent's transaction in the terms of the rules. Denies by default: a type or field that is not listed
 * here is refused, so a later protocol version adds nothing that an agent may sign.
 */
import { Address, BoundedMap, Bytes, Transaction, UptoProgram, type UptoTerms } from '@latchkey/algorand'
import { bounds } from '@latchkey/kmd-api/rules'
import type { AgentRefusal } from './Agent.js'

/** An amount of one asset that leaves the sender. Asset 0 is Algos. */
export type Spending = { readonly assetId: bigint; readonly amount: bigint }

export type Facts = {
  readonly kind: 'payment' | 'opt_in' | 'application'
  /** The genesis hash in standard base64. */
  readonly network: string
  readonly sender: string
  /** Undefined for an application call. */
  readonly payee: string | undefined
  /** The asset or application that is paid, opted in to, or called. */
  readonly assetId: bigint
  readonly amount: bigint
  readonly applicationId: bigint
  readonly feeMicroAlgos: bigint
  readonly firstValid: bigint
  readonly lastValid: bigint
  /** Amount and fee by asset, without zero amounts. */
  readonly spends: readonly Spending[]
  /**
   * An authorization for a price by usage: `amount` is the maximum, and `firstValid` a round that the network had reached
   * before the authorization was signed. Every rule applies as to a payment of the maximum.
   *
   * @default a transaction
   */
  readonly isUpTo?: true
}

type Fields = Transaction.Transaction
type Type = 'pay' | 'axfer' | 'appl'
/** The types that may have a field. A text names the hard rule that the field breaks. */
type FieldUse = readonly Type[] | string

const everyType = ['pay', 'axfer', 'appl'] as const
const never = 'no such transaction'

/** Every field of the codec. A field added to the codec does not compile until it is decided here. */
const fieldUses = {
  type: everyType,
  snd: everyType,
  fee: everyType,
  fv: everyType,
  lv: everyType,
  note: everyType,
  gen: everyType,
  gh: everyType,
  grp: everyType,
  lx: everyType,
  rekey: 'no rekey',

  rcv: ['pay'],
  amt: ['pay'],
  close: 'no close-out',

  xaid: ['axfer'],
  aamt: ['axfer'],
  arcv: ['axfer'],
  asnd: 'no clawback',
  aclose: 'no close-out',

  apid: ['appl'],
  apan: ['appl'],
  apaa: ['appl'],
  apat: ['appl'],
  apfa: ['appl'],
  apas: ['appl'],
  apbx: ['appl'],
  al: ['appl'],
  aprv: ['appl'],
  apls: 'no creation of applications',
  apgs: 'no creation of applications',
  apap: 'no creation or update of applications',
  apsu: 'no creation or update of applications',
  apep: 'no creation of applications',

  votekey: never,
  selkey: never,
  sprfkey: never,
  votefst: never,
  votelst: never,
  votekd: never,
  nonpart: never,
  caid: never,
  apar: never,
  fadd: never,
  faid: never,
  afrz: never,
  sptype: never,
  sp: never,
  spmsg: never,
  hb: never,
} as const satisfies { readonly [field in keyof Fields]-?: FieldUse }

/** The maximum of SQLite's integers, and so of what can be counted. No ledger has more. */
export const maxInteger = bounds.integer

/**
 * Returns the facts of a transaction, or why no rule can allow it.
 *
 * @throws Msgpack.DecodeError if the bytes are not a transaction
 */
export function readFacts(canonicalBytes: Uint8Array): Facts | AgentRefusal {
  const fields = Transaction.decode(canonicalBytes)
  const forbidden = findForbidden(fields)
  if (forbidden !== undefined) return forbidden
  const { fee: feeMicroAlgos = 0n, fv: firstValid = 0n, lv: lastValid = 0n } = fields
  const network = fields.gh === undefined ? undefined : Bytes.toBase64(fields.gh)
  if (network === undefined) {
    return refuse('agent_network_forbidden', 'networks', 'The transaction names no network: set its genesis hash.')
  }
  const common = { network, sender: addressText(fields.snd), feeMicroAlgos, firstValid, lastValid }
  const facts = { ...common, ...specific(fields) }
  const spends = spending(facts)
  const numbers = [firstValid, lastValid, facts.assetId, facts.applicationId, ...spends.map(({ amount }) => amount)]
  if (numbers.some((number) => number > maxInteger)) {
    return tooLarge
  }
  return { ...facts, spends }
}

/**
 * Returns the facts of an authorization for a price by usage, or why no rule can allow it.
 *
 * @param reachedRound a round that the network has certainly reached; undefined if none is known
 */
export function uptoFacts(terms: UptoTerms, reachedRound: bigint | undefined): Facts | AgentRefusal {
  const { payer: sender, payTo: payee, assetId, maxAmount: amount, lastValid, genesisHash } = terms
  const problem = UptoProgram.problemOf(terms)
  if (problem !== undefined) return forbid('no such authorization', `The authorization is not valid: ${problem}.`)
  if ([assetId, amount, lastValid].some((number) => number > maxInteger)) return tooLarge
  const earliest = UptoProgram.firstValidOf(terms)
  const firstValid = reachedRound !== undefined && reachedRound > earliest ? reachedRound : earliest
  const common = { network: Bytes.toBase64(genesisHash), sender, feeMicroAlgos: 0n, firstValid, lastValid }
  const payment = { kind: 'payment', payee, assetId, amount, applicationId: 0n } as const
  return { ...common, ...payment, spends: [{ assetId, amount }], isUpTo: true }
}

/** Whether {@link readFacts} returned a refusal. */
export function isRefusal(facts: Facts | AgentRefusal): facts is AgentRefusal {
  return 'code' in facts
}

function findForbidden(fields: Fields): AgentRefusal | undefined {
  const type = fields.type as Type
  if (!everyType.includes(type)) {
    const shown = /^[a-z]{1,7}$/.test(type) ? type : 'unknown'
    return forbid('only pay and axfer', `An agent may not sign transactions of type ${shown}.`)
  }
  for (const name of Object.keys(fields)) {
    const use: FieldUse = Object.hasOwn(fieldUses, name) ? fieldUses[name as keyof Fields] : never
    if (typeof use !== 'string' && use.includes(type)) continue
    const rule = typeof use === 'string' ? use : never
    return forbid(rule, `An agent may not sign a ${type} transaction with the field ${name}: ${rule}.`)
  }
  if (type === 'axfer' && fields.xaid === undefined) {
    return forbid(never, 'The asset transfer names no asset.')
  }
  if (type === 'appl' && fields.apid === undefined) {
    return forbid('no creation of applications', 'An agent may not create applications.')
  }
  if (type === 'appl' && fields.apan !== undefined) {
    return forbid('only NoOp', 'An agent may only call applications: no opt-in, close-out, update or deletion.')
  }
  return undefined
}

function specific(fields: Fields): Pick<Facts, 'kind' | 'payee' | 'assetId' | 'amount' | 'applicationId'> {
  if (fields.type === 'appl') {
    return { kind: 'application', payee: undefined, assetId: 0n, amount: 0n, applicationId: fields.apid! }
  }
  const applicationId = 0n
  const { amt = 0n, aamt = 0n, xaid: assetId = 0n } = fields
  if (fields.type === 'pay') {
    return { kind: 'payment', payee: addressText(fields.rcv ?? zeros), assetId: 0n, amount: amt, applicationId }
  }
  const receiver = fields.arcv ?? zeros
  const isOptIn = aamt === 0n && Bytes.equal(receiver, fields.snd)
  return { kind: isOptIn ? 'opt_in' : 'payment', payee: addressText(receiver), assetId, amount: aamt, applicationId }
}

function spending({ assetId, amount, feeMicroAlgos }: Pick<Facts, 'assetId' | 'amount' | 'feeMicroAlgos'>): Spending[] {
  const algos = { assetId: 0n, amount: assetId === 0n ? amount + feeMicroAlgos : feeMicroAlgos }
  const all = assetId === 0n ? [algos] : [{ assetId, amount }, algos]
  return all.filter((one) => one.amount > 0n)
}

const tooLarge = forbid('no such amount', 'A field of the transaction exceeds the maximum integer.')

const zeros = new Uint8Array(32)

/** The checksum of an address is most of the cost of a decision, and agents pay the same few addresses. */
const addresses = new BoundedMap<string, string>(4_096)

export function addressText(publicKey: Uint8Array): string {
  const key = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.byteLength).toString('latin1')
  const known = addresses.get(key)
  if (known !== undefined) return known
  const text = Address.encode(publicKey)
  addresses.set(key, text)
  return text
}

function forbid(rule: string, message: string): AgentRefusal {
  return refuse('agent_transaction_forbidden', rule, message)
}

function refuse(code: AgentRefusal['code'], rule: string, message: string): AgentRefusal {
  return { code, rule, unit: undefined, asked: undefined, left: undefined, resetsAtMs: undefined, message }
}

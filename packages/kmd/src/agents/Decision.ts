/**
 * Decides about an agent's transaction by the agent's rules. A pure function: spending and time are inputs.
 *
 * The transaction is first described in the terms of the rules. This denies by default: a type or field that is not
 * listed here is refused, so a later protocol version adds nothing that an agent may sign.
 *
 * Hard rules come first; an approval never lifts them. Among the others, a rule that refuses takes precedence over one
 * that asks the owner.
 */
import {
  Address,
  Amount,
  BoundedMap,
  Bytes,
  Readable,
  Transaction,
  UptoProgram,
  type UptoTerms,
} from '@latchkey/algorand'
import {
  assetUnit,
  bounds,
  type Dollars,
  formatAmount,
  formatLimit,
  formatQuantity,
  type Limit,
  quantityOf,
  type Rules,
  unitOf,
} from '@latchkey/kmd-api/rules'
import type { Agent, AgentRefusal } from './Agent.js'
import type { LastRound } from './Rounds.js'

/** The decision of the rules about a transaction. */
export type Decision =
  | { readonly type: 'allowed'; readonly rule: string }
  /** `refusals` has every rule that asks, most important first. `refusal` is the first of them. */
  | { readonly type: 'ask'; readonly refusal: AgentRefusal; readonly refusals: readonly AgentRefusal[] }
  | { readonly type: 'refused'; readonly refusal: AgentRefusal }

/** The agent's previous spending. */
export type Sums = {
  /** The sum of the limit's period that ends at `nowMs`. */
  used(limit: Limit, nowMs: number): bigint
  /** When the period's sum falls to `most` or less, if nothing is spent until then; undefined for never. */
  freeAt(limit: Limit, most: bigint, nowMs: number): number | undefined
}

export type DecideInput = {
  readonly facts: Facts | AgentRefusal
  readonly agent: Pick<Agent, 'addresses' | 'rules'>
  readonly sums: Sums
  readonly nowMs: number
  /** An upper bound of the last round of the transaction's network. @default 'unchecked' */
  readonly lastRound?: LastRound | undefined
}

export function decide({ facts, agent, sums, nowMs, lastRound = 'unchecked' }: DecideInput): Decision {
  if (isRefusal(facts)) return { type: 'refused', refusal: facts }
  const { rules } = agent
  const hard = hardRefusal(facts, agent) ?? postDatedRefusal(facts, rules, lastRound)
  if (hard !== undefined) return { type: 'refused', refusal: hard }
  const soft = [
    ...payeeRefusals(facts, rules),
    ...limitRefusals(facts, rules, sums, nowMs),
    ...askRefusals(facts, rules),
  ]
  const refused = soft.find(({ asks }) => !asks)
  if (refused !== undefined) return { type: 'refused', refusal: refused.refusal }
  const refusals = soft.map(({ refusal }) => refusal)
  if (refusals[0] !== undefined) return { type: 'ask', refusal: refusals[0], refusals }
  return { type: 'allowed', rule: allowingRule(facts, rules) }
}

type Soft = { readonly asks: boolean; readonly refusal: AgentRefusal }

function hardRefusal(facts: Facts, { addresses, rules }: DecideInput['agent']): AgentRefusal | undefined {
  if (!addresses.includes(facts.sender)) {
    return plain('agent_transaction_forbidden', 'own keys', 'The sender is not an address of this agent.')
  }
  if (!rules.networks.includes(facts.network)) {
    return plain('agent_network_forbidden', 'networks', 'This agent may not sign for this network.')
  }
  return feeRefusal(facts, rules) ?? validityRefusal(facts, rules) ?? grantRefusal(facts, rules)
}

function feeRefusal({ feeMicroAlgos }: Facts, { maxFeeMicroAlgos }: Rules): AgentRefusal | undefined {
  if (feeMicroAlgos <= maxFeeMicroAlgos) return undefined
  const most = Amount.formatAlgos(maxFeeMicroAlgos)
  return {
    ...plain(
      'agent_fee_too_high',
      `fee ${most}`,
      `The fee is above the ${most} that this agent may pay for a transaction.`,
    ),
    ...{ unit: 'ALGO', asked: feeMicroAlgos, left: maxFeeMicroAlgos },
  }
}

function validityRefusal(facts: Facts, { maxValidRounds }: Rules): AgentRefusal | undefined {
  const { firstValid, lastValid, isUpTo } = facts
  const rule = `valid for ${maxValidRounds} rounds`
  if (lastValid < firstValid) {
    const message = isUpTo ? 'The last valid round has passed.' : 'The last valid round is before the first.'
    return plain('agent_validity_too_long', rule, message)
  }
  // An authorization is valid from now on, so only the round tells for how long: see postDatedRefusal.
  if (isUpTo) return undefined
  const rounds = lastValid - firstValid
  if (rounds <= BigInt(maxValidRounds)) return undefined
  const message = `The transaction is valid for ${rounds} rounds; this agent may sign for ${maxValidRounds}.`
  const amounts = { unit: 'rounds', asked: rounds, left: BigInt(maxValidRounds) }
  return { ...plain('agent_validity_too_long', rule, message), ...amounts }
}

/**
 * Refuses post-dated payments. Payments signed on many days and all valid on the same day would exceed a daily limit. An
 * authorization has no first round, so its last one must be near.
 */
function postDatedRefusal(facts: Facts, { maxValidRounds }: Rules, lastRound: LastRound): AgentRefusal | undefined {
  if (lastRound === 'unchecked') return undefined
  const rule = `valid within ${maxValidRounds} rounds`
  if (lastRound === 'unknown') {
    const message = "The current round of this network is unknown, because the daemon's node does not respond."
    return plain('agent_round_unknown', rule, message)
  }
  const furthest = lastRound + BigInt(maxValidRounds)
  if (facts.isUpTo) {
    if (facts.lastValid <= furthest) return undefined
    const message = `The authorization is valid until round ${facts.lastValid}, which is too far ahead.`
    return plain('agent_validity_too_long', rule, message)
  }
  if (facts.firstValid <= furthest) return undefined
  const message = `The transaction is not valid before round ${facts.firstValid}, which is too far ahead.`
  return plain('agent_validity_too_long', rule, message)
}

/** Applications, opt-ins and assets must be named by the owner. Denied payees are refused here, too. */
function grantRefusal(facts: Facts, rules: Rules): AgentRefusal | undefined {
  const { kind, network, payee, assetId, applicationId } = facts
  const isNamed = (items: Rules['optIns'], wanted: bigint): boolean =>
    items.some((item) => item.network === network && item.id === wanted)
  if (kind === 'application' && !isNamed(rules.applications, applicationId)) {
    const message = `This agent may not call application ${applicationId}.`
    return plain('agent_transaction_forbidden', 'applications', message)
  }
  if (kind === 'opt_in' && !isNamed(rules.optIns, assetId)) {
    return plain('agent_transaction_forbidden', 'opt-ins', `This agent may not opt in to asset ${assetId}.`)
  }
  if (kind === 'payment' && rules.payees.deny.includes(payee!)) {
    return plain(
      'agent_payee_denied',
      'payees denied',
      `This agent may not pay ${payee}: its owner denied the address.`,
    )
  }
  return amountsOf(facts)
    .map((spending) => withoutLimit(facts, rules, spending))
    .find((refusal) => refusal !== undefined)
}

/** The amounts that need a limit, including a zero amount of an asset. */
function amountsOf({ kind, assetId, amount, spends }: Facts): readonly Spending[] {
  const isListed = kind !== 'payment' || spends.some((one) => one.assetId === assetId)
  return isListed ? spends : [{ assetId, amount }, ...spends]
}

function withoutLimit(
  facts: Facts,
  { limits, dollars }: Rules,
  { assetId, amount }: Spending,
): AgentRefusal | undefined {
  const isLimited = limits.some(
    (limit) => limit.type === 'amount' && limit.assetId === assetId && applies(limit, facts),
  )
  if (isLimited) return undefined
  const unit = assetUnit({ network: facts.network, id: assetId }, dollars)
  const isFee = assetId === 0n && (facts.kind !== 'payment' || facts.assetId !== 0n)
  const what = isFee ? 'The fee is in ALGO, for which this agent has no limit' : `This agent has no limit for ${unit}`
  const refusal = plain('agent_asset_without_limit', `no limit for ${unit}`, `${what}, so it cannot spend it.`)
  return { ...refusal, unit, asked: amount, left: 0n }
}

function applies({ network, payee }: Limit, facts: Facts): boolean {
  return network === facts.network && (payee === undefined || payee === facts.payee)
}

function payeeRefusals({ kind, payee }: Facts, { payees, ask }: Rules): Soft[] {
  if (kind !== 'payment' || payees.allow === 'all' || payees.allow.includes(payee!)) return []
  const message = `${payee} is not among the addresses that this agent may pay.`
  return [{ asks: ask.unknownPayee, refusal: plain('agent_payee_unknown', 'pay-to', message) }]
}

function limitRefusals(facts: Facts, { limits, dollars, ask }: Rules, sums: Sums, nowMs: number): Soft[] {
  const found: Soft[] = []
  for (const limit of limits) {
    if (!applies(limit, facts)) continue
    const asked = askedOf(limit, facts)
    if (asked === 0n) continue
    const most = quantityOf(limit)
    const used = limit.per === 'payment' ? 0n : sums.used(limit, nowMs)
    if (used + asked <= most) continue
    const left = used < most ? most - used : 0n
    const resetsAtMs = asked > most ? undefined : sums.freeAt(limit, most - asked, nowMs)
    found.push({ asks: ask.overLimit, refusal: limitRefusal(limit, { asked, left, resetsAtMs }, dollars) })
  }
  // The limit that resets last determines when to retry.
  return found.sort((a, b) => endOf(b.refusal) - endOf(a.refusal))
}

function endOf({ resetsAtMs }: AgentRefusal): number {
  return resetsAtMs ?? Number.POSITIVE_INFINITY
}

/** The share of a limit that a transaction uses. Opt-ins and calls also count as payments. */
function askedOf(limit: Limit, { spends }: Facts): bigint {
  if (limit.type === 'count') return 1n
  return spends.find(({ assetId }) => assetId === limit.assetId)?.amount ?? 0n
}

type Excess = { readonly asked: bigint; readonly left: bigint; readonly resetsAtMs: number | undefined }

function limitRefusal(limit: Limit, { asked, left, resetsAtMs }: Excess, dollars: Dollars): AgentRefusal {
  const rule = formatLimit(limit, dollars)
  const shown = (amount: bigint): string => formatQuantity(limit, amount, dollars)
  const when = resetsAtMs === undefined ? '' : ` Enough is available at ${Readable.time(resetsAtMs)}.`
  const fee = limit.type === 'amount' && limit.assetId === 0n ? ' (with the fee)' : ''
  const message = `This payment needs ${shown(asked)}${fee}; ${shown(left)} is left of the limit ${rule}.${when}`
  return { code: 'agent_limit_exceeded', rule, unit: unitOf(limit, dollars), asked, left, resetsAtMs, message }
}

function askRefusals({ kind, network, assetId, amount }: Facts, { ask, dollars }: Rules): Soft[] {
  if (kind !== 'payment') {
    if (!ask.otherTypes) return []
    const what = kind === 'opt_in' ? 'An opt-in' : 'An application call'
    const message = `${what} needs the owner's approval.`
    return [{ asks: true, refusal: plain('agent_approval_required', 'ask other-types', message) }]
  }
  const above = ask.above.filter((one) => one.network === network && one.assetId === assetId && amount > one.amount)
  const asset = { network, id: assetId }
  return above.map((one) => {
    const most = formatAmount(one, dollars)
    const message = `A payment above ${most} needs the owner's approval.`
    const refusal = plain('agent_approval_required', `ask above ${most}`, message)
    return { asks: true, refusal: { ...refusal, unit: assetUnit(asset, dollars), asked: amount, left: one.amount } }
  })
}

/** For the log: the limits that the payment counts against. */
function allowingRule(facts: Facts, { limits, dollars }: Rules): string {
  if (facts.kind === 'application') return `application ${facts.applicationId}`
  if (facts.kind === 'opt_in') return `opt-in ${facts.assetId}`
  const counted = limits.filter(
    (limit) => limit.type === 'amount' && limit.assetId === facts.assetId && applies(limit, facts),
  )
  const texts = counted.slice(0, mostNamedLimits).map((limit) => formatLimit(limit, dollars))
  if (counted.length > texts.length) texts.push(`and ${counted.length - texts.length} more limits`)
  return texts.join(', ')
}

const mostNamedLimits = 4

function plain(code: AgentRefusal['code'], rule: string, message: string): AgentRefusal {
  return { code, rule, unit: undefined, asked: undefined, left: undefined, resetsAtMs: undefined, message }
}

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
    return plain('agent_network_forbidden', 'networks', 'The transaction names no network: set its genesis hash.')
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
  return plain('agent_transaction_forbidden', rule, message)
}

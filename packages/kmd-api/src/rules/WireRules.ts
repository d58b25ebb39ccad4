/**
 * Rules as JSON in requests and responses of the daemon. Integers that may exceed 2^53 are decimal text. An absent
 * member is blank, zero, false or empty: the `reference` wire leaves those out.
 */
import { Json } from '@latchkey/algorand'
import { bounds, defaults } from './bounds.js'
import { fail, type Limit, type NetworkAmount, type NetworkItem, type NewRules, type Rules } from './Rules.js'
import { type Period, periods } from './SpendLimit.js'

/** A limit as JSON. `asset_id` and `amount` are blank in a limit of the type `count`. */
export type WireLimit = {
  readonly per: Period
  readonly network: string
  readonly type: 'amount' | 'count'
  readonly asset_id: string
  readonly amount: string
  readonly count: number
  /** Blank for all payees. */
  readonly payee: string
}

/** An application or asset on one network, as JSON. */
export type WireItem = { readonly network: string; readonly id: string }

/** Rules as JSON. */
export type WireRules = {
  readonly networks: readonly string[]
  readonly limits: readonly WireLimit[]
  readonly payees: { readonly allow_all: boolean; readonly allow: readonly string[]; readonly deny: readonly string[] }
  readonly applications: readonly WireItem[]
  readonly opt_ins: readonly WireItem[]
  readonly dollars: readonly WireItem[]
  /** Blank for the default. */
  readonly max_fee_micro_algos: string
  /** 0 for the default. */
  readonly max_valid_rounds: number
  readonly ask: {
    readonly above: readonly { readonly network: string; readonly asset_id: string; readonly amount: string }[]
    readonly over_limit: boolean
    readonly unknown_payee: boolean
    readonly other_types: boolean
  }
}

/**
 * Parses rules from JSON: every member has the right type and is within its bound. {@link validateRules} checks what
 * they mean.
 *
 * @throws RulesError that names the invalid member
 */
export function parseRules(json: unknown, path = 'rules'): Rules {
  const given = new Reader(json, path)
  const [payees, ask] = [given.object('payees'), given.object('ask')]
  return {
    networks: given.texts('networks', bounds.networks),
    limits: given.objects('limits', bounds.limits).map(readLimit),
    payees: readPayees(payees),
    applications: given.objects('applications', bounds.items).map(readItem),
    optIns: given.objects('opt_ins', bounds.items).map(readItem),
    dollars: given.objects('dollars', bounds.networks).map(readItem),
    maxFeeMicroAlgos: given.integer('max_fee_micro_algos', defaults.maxFeeMicroAlgos),
    maxValidRounds: given.number('max_valid_rounds', bounds.validRounds) || defaults.maxValidRounds,
    ask: {
      above: ask.objects('above', bounds.thresholds).map(readThreshold),
      overLimit: ask.flag('over_limit'),
      unknownPayee: ask.flag('unknown_payee'),
      otherTypes: ask.flag('other_types'),
    },
  }
}

/** Parses one limit from JSON. @throws RulesError that names the invalid member */
export function parseLimit(json: unknown, path: string): Limit {
  return readLimit(new Reader(json, path))
}

/** Writes rules as JSON. Members that are left out stay blank, so that the daemon's defaults apply. */
export function writeRules(rules: NewRules): WireRules {
  const { payees, maxFeeMicroAlgos, ask = {} } = rules
  return {
    networks: rules.networks,
    limits: rules.limits.map(writeLimit),
    payees: {
      allow_all: payees.allow === 'all',
      allow: payees.allow === 'all' ? [] : payees.allow,
      deny: payees.deny ?? [],
    },
    applications: (rules.applications ?? []).map(writeItem),
    opt_ins: (rules.optIns ?? []).map(writeItem),
    dollars: (rules.dollars ?? []).map(writeItem),
    max_fee_micro_algos: maxFeeMicroAlgos === undefined ? '' : `${maxFeeMicroAlgos}`,
    max_valid_rounds: rules.maxValidRounds ?? 0,
    ask: {
      above: (ask.above ?? []).map(({ network, assetId, amount }) => ({
        network,
        asset_id: `${assetId}`,
        amount: `${amount}`,
      })),
      over_limit: ask.overLimit ?? false,
      unknown_payee: ask.unknownPayee ?? false,
      other_types: ask.otherTypes ?? false,
    },
  }
}

/** Writes one limit as JSON. */
export function writeLimit(limit: Limit): WireLimit {
  const isAmount = limit.type === 'amount'
  return {
    per: limit.per,
    network: limit.network,
    type: limit.type,
    asset_id: isAmount ? `${limit.assetId}` : '',
    amount: isAmount ? `${limit.amount}` : '',
    count: isAmount ? 0 : limit.count,
    payee: limit.payee ?? '',
  }
}

function writeItem({ network, id }: NetworkItem): WireItem {
  return { network, id: `${id}` }
}

function readLimit(given: Reader): Limit {
  const per = given.oneOf('per', periods)
  const payee = given.text('payee')
  const base = { per, network: given.text('network'), ...(payee !== '' && { payee }) }
  const type = given.oneOf('type', ['amount', 'count'], 'amount or count')
  const count = given.number('count', bounds.count)
  if (type === 'amount') {
    if (count !== 0) given.fail('count', 'is for limits of the type count')
    return { ...base, type, assetId: given.integer('asset_id', 0n), amount: given.integer('amount') }
  }
  if (given.text('amount') !== '' || given.text('asset_id') !== '') {
    given.fail('amount', 'is for limits of the type amount')
  }
  return { ...base, type, count }
}

function readPayees(given: Reader): Rules['payees'] {
  const [allow, deny] = [given.texts('allow', bounds.payees), given.texts('deny', bounds.payees)]
  if (!given.flag('allow_all')) return { allow, deny }
  if (allow.length > 0) given.fail('allow', 'must be absent if allow_all is true')
  return { allow: 'all', deny }
}

function readItem(given: Reader): NetworkItem {
  return { network: given.text('network'), id: given.integer('id') }
}

function readThreshold(given: Reader): NetworkAmount {
  return { network: given.text('network'), assetId: given.integer('asset_id', 0n), amount: given.integer('amount') }
}

/** A request with a wrong type is rejected before its rules are parsed. */
const wrongType = 'has the wrong type'

/** Reads members of a JSON object and names those that are not valid. */
class Reader {
  readonly #members: Json.Members
  readonly #path: string

  constructor(json: unknown, path: string) {
    this.#members = Json.isObject(json) ? json : fail(path, wrongType)
    this.#path = path
  }

  text(name: string): string {
    return this.#read(name, '')
  }

  flag(name: string): boolean {
    return this.#read(name, false)
  }

  number(name: string, max: number): number {
    const value = this.#read(name, 0)
    return Number.isInteger(value) && value >= 0 && value <= max ? value : this.fail(name, `must be <= ${max}`)
  }

  /** An integer as decimal text. A blank one is the default, if there is one. */
  integer(name: string, blank?: bigint): bigint {
    const text = this.text(name)
    if (text === '' && blank !== undefined) return blank
    const value = /^[0-9]{1,20}$/.test(text) ? BigInt(text) : -1n
    if (value >= 0n && value <= bounds.integer) return value
    return this.fail(name, 'must be a whole number below 2^63, as decimal text')
  }

  oneOf<T extends string>(name: string, choices: readonly T[], text = choices.join(', ')): T {
    return choices.find((choice) => choice === this.#members[name]) ?? this.fail(name, `must be ${text}`)
  }

  texts(name: string, max: number): string[] {
    const list = this.#list(name, max)
    return list.every((value) => typeof value === 'string') ? [...list] : this.fail(name, wrongType)
  }

  /** A blank object if it is absent. */
  object(name: string): Reader {
    return new Reader(this.#members[name] ?? {}, `${this.#path}.${name}`)
  }

  objects(name: string, max: number): Reader[] {
    return this.#list(name, max).map((value, at) => new Reader(value, `${this.#path}.${name}[${at}]`))
  }

  fail(name: string, problem: string): never {
    return fail(`${this.#path}.${name}`, problem)
  }

  #list(name: string, max: number): readonly unknown[] {
    const value = this.#members[name] ?? []
    if (!Array.isArray(value)) return this.fail(name, wrongType)
    return value.length > max ? this.fail(name, `is too long, must be <= ${max}`) : value
  }

  /** Returns a member of the same type as its value when absent. */
  #read<T extends string | number | boolean>(name: string, absent: T): T {
    const value = this.#members[name] ?? absent
    return typeof value === typeof absent ? (value as T) : this.fail(name, wrongType)
  }
}

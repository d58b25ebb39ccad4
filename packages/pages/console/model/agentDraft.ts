/** Converts between the form fields and the rules of an agent. */
import { Amount } from '@latchkey/algorand'
import {
  boundsSum,
  declaredDollars,
  defaults,
  isSameLimit,
  type Limit,
  parseId,
  type Rules,
  SpendLimit,
} from '@latchkey/kmd-api/rules'
import { toSentence } from '../messages.js'
import type { Agent } from '../responseTypes.js'
import type { AgentNetwork } from './agentNetwork.js'
import { addressOf, addressProblem, type KnownAddress } from './knownAddresses.js'
import {
  blankQuantity,
  QuantityError,
  type QuantityInput,
  quantityOfLimit,
  readQuantity,
  toInput,
} from './quantityInput.js'

export type LimitRow = QuantityInput & { id: number; per: SpendLimit.Period; payee: string }

/** An amount above which the agent asks. */
export type AskRow = QuantityInput & { id: number }

/** When the agent expires: after days, never, on a date, or unchanged. */
export type End = '7' | '30' | '90' | '365' | 'never' | 'date' | 'keep'

export type AgentDraft = {
  limits: readonly LimitRow[]
  payees: 'anyone' | 'listed'
  /** Addresses or labels of contacts, one per line. */
  allow: string
  deny: string
  /** Rows without an amount do not count. */
  askAbove: readonly AskRow[]
  asksOverLimit: boolean
  asksUnknownPayee: boolean
  asksOtherTypes: boolean
  maxFee: string
  /** Ids, separated by commas or spaces. */
  applications: string
  optIns: string
  end: End
  /** In the format of a date field. */
  date: string
}

/** Errors by field, and for limits by the id of their row. */
export type DraftErrors = {
  limits: { readonly [id: number]: string }
  askAbove?: { readonly [id: number]: string } | undefined
  /** An error about the limits overall. */
  noLimit?: string | undefined
} & {
  readonly [field in 'allow' | 'deny' | 'maxFee' | 'applications' | 'optIns' | 'date']?: string | undefined
}

export type ReadDraft = { isValid: true; rules: Rules; expiresAtMs: number } | { isValid: false; errors: DraftErrors }

type Context = {
  network: AgentNetwork
  known: readonly KnownAddress[]
  nowMs: number
  /** The agent to change. Its rules for other networks are kept. @default a new agent */
  agent?: Agent | undefined
}

const dayMs = 86_400_000

/** Returns the draft of a new agent without any preset. */
export function blankDraft(network: Pick<AgentNetwork, 'dollarAssetId'>): AgentDraft {
  return {
    limits: [{ id: 1, ...blankQuantity(network), per: 'day', payee: '' }],
    payees: 'anyone',
    allow: '',
    deny: '',
    askAbove: [{ id: 1, ...blankQuantity(network) }],
    asksOverLimit: false,
    asksUnknownPayee: false,
    asksOtherTypes: false,
    maxFee: Amount.format(defaults.maxFeeMicroAlgos, Amount.algoDecimals),
    applications: '',
    optIns: '',
    end: '30',
    date: '',
  }
}

/** Returns the draft that represents the rules of an agent. */
export function draftOf({ rules, expiresAtMs }: Agent, network: AgentNetwork): AgentDraft {
  const isHere = (one: { network: string }): boolean => one.network === network.genesisHash
  const { payees, ask } = rules
  const rows = rules.limits.filter(isHere).map((limit, index) => ({
    id: index + 1,
    ...toInput(quantityOfLimit(limit), network),
    per: limit.per,
    payee: limit.payee ?? '',
  }))
  const asks = ask.above
    .filter(isHere)
    .map(({ assetId, amount }, index) => ({ id: index + 1, ...toInput({ type: 'amount', assetId, amount }, network) }))
  const blank = blankDraft(network)
  return {
    limits: rows.length > 0 ? rows : blank.limits,
    payees: payees.allow === 'all' ? 'anyone' : 'listed',
    allow: payees.allow === 'all' ? '' : payees.allow.join('\n'),
    deny: payees.deny.join('\n'),
    askAbove: asks.length > 0 ? asks : blank.askAbove,
    asksOverLimit: ask.overLimit,
    asksUnknownPayee: ask.unknownPayee,
    asksOtherTypes: ask.otherTypes,
    maxFee: Amount.format(rules.maxFeeMicroAlgos, Amount.algoDecimals),
    applications: rules.applications
      .filter(isHere)
      .map(({ id }) => id)
      .join(', '),
    optIns: rules.optIns
      .filter(isHere)
      .map(({ id }) => id)
      .join(', '),
    end: expiresAtMs === 0 ? 'never' : 'keep',
    date: '',
  }
}

export function readDraft(draft: AgentDraft, context: Context): ReadDraft {
  const { network, known, nowMs, agent } = context
  const read = new Reading(network, known)
  const limits = read.limits(draft.limits)
  const allow = draft.payees === 'anyone' ? ('all' as const) : read.addresses('allow', draft.allow)
  const deny = read.addresses('deny', draft.deny)
  const above = read.askAbove(draft.askAbove)
  const maxFeeMicroAlgos = read.fee(draft.maxFee)
  const applications = read.ids('applications', draft.applications)
  const optIns = read.ids('optIns', draft.optIns)
  const expiresAtMs = read.end(draft, nowMs, agent?.expiresAtMs ?? 0)
  if (read.hasErrors) return { isValid: false, errors: read.errors }
  const elsewhere = <T extends { network: string }>(items: readonly T[] | undefined): T[] =>
    (items ?? []).filter((one) => one.network !== network.genesisHash)
  const before = agent?.rules
  const rules: Rules = {
    networks: [...new Set([...(before?.networks ?? []), network.genesisHash])],
    limits: [...elsewhere(before?.limits), ...limits],
    payees: { allow, deny },
    applications: [...elsewhere(before?.applications), ...applications],
    optIns: [...elsewhere(before?.optIns), ...optIns],
    dollars: [...elsewhere(before?.dollars), ...declaredDollars(network.genesisHash, network.dollarAssetId)],
    maxFeeMicroAlgos,
    maxValidRounds: before?.maxValidRounds ?? defaults.maxValidRounds,
    ask: {
      above: [...elsewhere(before?.ask.above), ...above],
      overLimit: draft.asksOverLimit,
      unknownPayee: draft.asksUnknownPayee && draft.payees === 'listed',
      otherTypes: draft.asksOtherTypes,
    },
  }
  return { isValid: true, rules, expiresAtMs }
}

/** Reads fields and collects their errors. */
class Reading {
  errors: DraftErrors = { limits: {} }
  readonly #network: AgentNetwork
  readonly #known: readonly KnownAddress[]

  constructor(network: AgentNetwork, known: readonly KnownAddress[]) {
    this.#network = network
    this.#known = known
  }

  get hasErrors(): boolean {
    const { limits, ...others } = this.errors
    return Object.keys(limits).length > 0 || Object.values(others).some((error) => error !== undefined)
  }

  limits(rows: readonly LimitRow[]): Limit[] {
    const found: { id: number; limit: Limit }[] = []
    for (const row of rows) {
      if (row.amount.trim() === '' && row.payee.trim() === '') continue
      try {
        found.push({ id: row.id, limit: this.#limit(row) })
      } catch (error) {
        this.#failLimit(row.id, messageOf(error))
      }
    }
    // An invalid row may be the missing one.
    const hasWrongRows = this.hasErrors
    for (const { id, limit } of found) {
      const twin = found.find((other) => other.id < id && isSameLimit(other.limit, limit))
      if (twin !== undefined) this.#failLimit(id, 'A limit for this asset and period already exists.')
      else if (!hasWrongRows && limit.per === 'payment' && !found.some((other) => boundsSum(other.limit, limit))) {
        this.#failLimit(
          id,
          'Also add a limit for an hour, a day or in total: this one alone does not limit total spending.',
        )
      }
    }
    if (!this.hasErrors && !found.some(({ limit }) => limit.type === 'amount')) {
      this.errors = {
        ...this.errors,
        noLimit: 'Enter at least one limit for an amount: without one, nothing can be spent.',
      }
    }
    return found.map(({ limit }) => limit)
  }

  #limit({ per, payee, ...input }: LimitRow): Limit {
    const quantity = readQuantity(input, this.#network)
    if (quantity.type === 'count' && per === 'payment') {
      throw new QuantityError('A number of payments needs a period, such as an hour.')
    }
    const limit = { ...quantity, per, network: this.#network.genesisHash }
    return payee.trim() === '' ? limit : { ...limit, payee: this.#address(payee) }
  }

  addresses(field: 'allow' | 'deny', text: string): string[] {
    const lines = text.split(/[\n,]/).filter((line) => line.trim() !== '')
    try {
      return [...new Set(lines.map((line) => this.#address(line)))]
    } catch (error) {
      this.#fail(field, messageOf(error))
      return []
    }
  }

  #address(text: string): string {
    const address = addressOf(this.#known, text)
    if (address === undefined) throw new Error(`“${text.trim()}”: ${addressProblem(text)}`)
    return address
  }

  askAbove(rows: readonly AskRow[]): Rules['ask']['above'] {
    const found: Rules['ask']['above'][number][] = []
    for (const { id, ...input } of rows) {
      if (input.amount.trim() === '') continue
      try {
        const quantity = readQuantity(input, this.#network)
        if (quantity.type === 'count') throw new QuantityError('Choose dollars, ALGO or another asset.')
        if (found.some(({ assetId }) => assetId === quantity.assetId)) {
          throw new QuantityError('An amount of this asset is already listed.')
        }
        found.push({ network: this.#network.genesisHash, assetId: quantity.assetId, amount: quantity.amount })
      } catch (error) {
        this.errors = { ...this.errors, askAbove: { ...this.errors.askAbove, [id]: messageOf(error) } }
      }
    }
    return found
  }

  fee(text: string): bigint {
    try {
      return SpendLimit.parseFee(text)
    } catch {
      this.#fail('maxFee', 'Enter a fee in ALGO, at most 10.')
      return 0n
    }
  }

  ids(field: 'applications' | 'optIns', text: string): Rules['optIns'] {
    const parts = text.split(/[\s,]+/).filter((part) => part !== '')
    const ids = [...new Set(parts)].map(parseId).filter((id) => id !== undefined)
    if (ids.length < new Set(parts).size) this.#fail(field, 'Enter ids, separated by commas.')
    return ids.map((id) => ({ network: this.#network.genesisHash, id }))
  }

  end({ end, date }: AgentDraft, nowMs: number, before: number): number {
    if (end === 'never') return 0
    if (end === 'keep') return before
    if (end !== 'date') return nowMs + Number(end) * dayMs
    // The end of that day in the person's time zone.
    const atMs = Date.parse(`${date}T23:59:59`)
    if (Number.isNaN(atMs)) this.#fail('date', 'Choose a date.')
    else if (atMs <= nowMs) this.#fail('date', 'This date is in the past.')
    return atMs
  }

  #failLimit(id: number, text: string): void {
    this.errors = { ...this.errors, limits: { ...this.errors.limits, [id]: text } }
  }

  #fail(field: Exclude<keyof DraftErrors, 'limits' | 'askAbove'>, text: string): void {
    this.errors = { ...this.errors, [field]: text }
  }
}

function messageOf(error: unknown): string {
  return toSentence(error instanceof Error ? error.message : String(error))
}

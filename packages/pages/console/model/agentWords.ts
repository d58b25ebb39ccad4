/** Describes agents in plain language: their state, and what their rules allow. */
import { Amount, SpendLimit } from '@latchkey/algorand'
import type { Agent, AgentLimit, AgentRules, AgentState } from '@latchkey/kmd-client'
import { agentNetwork, type DollarSource } from './agentNetwork.js'
import { formatDate } from './time.js'

const stateNames: { readonly [state in AgentState]: string } = {
  active: 'active',
  paused: 'paused',
  suspended: 'suspended',
  revoked: 'revoked',
  expired: 'ended on its date',
  key_deleted: 'ended: its key was deleted',
  wallet_deleted: 'ended: its wallet was deleted',
}

export function stateName(state: AgentState): string {
  return stateNames[state]
}

/** Whether the agent has ended permanently. */
export function hasEnded({ state }: Pick<Agent, 'state'>): boolean {
  return state !== 'active' && state !== 'paused' && state !== 'suspended'
}

const periodWords: { readonly [period in SpendLimit.Period]: string } = {
  payment: 'for each payment',
  hour: 'an hour',
  day: 'a day',
  week: 'a week',
  '30days': 'in 30 days',
  total: 'in all',
}

/** The quantity that a limit counts: `$5`, `2 ALGO`, `20 payments`. */
export function quantityText(limit: AgentLimit, amount: bigint, source: DollarSource): string {
  if (limit.type === 'count') return amount === 1n ? '1 payment' : `${amount} payments`
  return amountText({ network: limit.network, assetId: limit.assetId, amount }, source)
}

export type NetworkAmount = { network: string; assetId: bigint; amount: bigint }

/** An amount with its unit: `$0.50`, `2 ALGO`, `10 asset 123`. */
export function amountText({ network, assetId, amount }: NetworkAmount, source: DollarSource): string {
  return SpendLimit.formatAmount({ assetId, amount }, agentNetwork(network, source))
}

export function mostOf(limit: AgentLimit): bigint {
  return limit.type === 'count' ? BigInt(limit.count) : limit.amount
}

/** `$5 a day`, `$0.50 for each payment`. */
export function limitText(limit: AgentLimit, source: DollarSource): string {
  const payee = limit.payee === undefined ? '' : ` to ${limit.payee}`
  return `${quantityText(limit, mostOf(limit), source)} ${periodWords[limit.per]}${payee}`
}

export type RuleGroup = { title: string; lines: readonly string[] }

/** Describes the rules, the most important first. */
export function ruleGroups(
  { rules, expiresAtMs }: Pick<Agent, 'rules' | 'expiresAtMs'>,
  { node }: DollarSource,
): RuleGroup[] {
  const source = { node, dollars: rules.dollars }
  return [
    { title: 'May spend', lines: rules.limits.map((limit) => `At most ${limitText(limit, source)}.`) },
    { title: 'May pay', lines: payeeLines(rules) },
    { title: 'Asks you', lines: askLines(rules, source) },
    { title: 'Otherwise', lines: otherLines(rules, source, expiresAtMs) },
  ]
}

function payeeLines({ payees: { allow, deny } }: AgentRules): string[] {
  const lines = allow === 'all' ? ['Anyone.'] : allow.map((address) => `${address}.`)
  if (allow !== 'all' && allow.length === 0) lines.push('No address: none is listed.')
  return [...lines, ...deny.map((address) => `Never ${address}.`)]
}

function askLines({ ask, payees }: AgentRules, source: DollarSource): string[] {
  const lines = ask.above.map((one) => `Before a payment above ${amountText(one, source)}.`)
  if (ask.overLimit) lines.push('Before a payment above a limit, instead of refusing it.')
  if (ask.unknownPayee && payees.allow !== 'all') lines.push('Before it pays an address that is not listed.')
  if (ask.otherTypes) lines.push('Before every opt-in and application call.')
  return lines.length === 0 ? ['Never: anything the rules do not allow is refused.'] : lines
}

function otherLines(rules: AgentRules, source: DollarSource, expiresAtMs: number | undefined): string[] {
  const { applications, optIns, maxFeeMicroAlgos, networks } = rules
  const names = networks.map((network) => agentNetwork(network, source).title)
  return [
    `Signs for ${names.join(' and ')} only.`,
    `Pays a fee of at most ${Amount.formatAlgos(maxFeeMicroAlgos)} per transaction. Fees count as ALGO spending.`,
    ...optIns.map(({ id }) => `May opt in to asset ${id}.`),
    ...applications.map(({ id }) => `May call application ${id}.`),
    'Never rekeys, closes an account, or exports a key.',
    expiresAtMs === undefined ? 'Has no end date.' : `Ends on ${formatDate(expiresAtMs)}.`,
  ]
}

/** Warns about consequences of these rules that the owner may not expect. */
export function ruleWarnings(rules: AgentRules): string[] {
  const { limits, payees, ask } = rules
  const warnings: string[] = []
  const isLimited = (assetId: bigint): boolean =>
    limits.some((limit) => limit.type === 'amount' && limit.assetId === assetId)
  if (!isLimited(0n)) {
    warnings.push('It has no limit in ALGO, so it can sign only transactions whose fees others pay.')
  }
  if (payees.allow !== 'all' && payees.allow.length === 0 && !ask.unknownPayee) {
    warnings.push('It cannot pay any address: none is listed.')
  }
  return warnings
}

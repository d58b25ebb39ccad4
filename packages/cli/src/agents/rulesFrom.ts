/** Builds the rules of an agent from the options of a command. */
import { Address } from '@latchkey/algorand'
import {
  type AskRules,
  completeRules,
  declaredDollars,
  type Limit,
  type NetworkItem,
  type NewRules,
  parseId,
  type Rules,
  RulesError,
  SpendLimit,
  validateRules,
} from '@latchkey/kmd-api/rules'
import type { Option } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'
import type { RuleNetwork } from './ruleNetwork.js'

export const ruleOptions = {
  limit: {
    type: 'string',
    multiple: true,
    placeholder: 'LIMIT',
    description: "spending limit: '$5/day', '2 ALGO/total', '10 asset 123/week', '20 payments/hour'; repeatable",
  },
  each: {
    type: 'string',
    multiple: true,
    placeholder: 'AMOUNT',
    description: "maximum for one payment, such as '$0.50'; repeatable for other assets",
  },
  'pay-to': {
    type: 'string',
    multiple: true,
    placeholder: 'ADDRESS',
    description: 'address that the agent may pay; repeatable (any address)',
  },
  deny: {
    type: 'string',
    multiple: true,
    placeholder: 'ADDRESS',
    description: 'address that the agent may never pay; repeatable',
  },
  'ask-above': {
    type: 'string',
    multiple: true,
    placeholder: 'AMOUNT',
    description: 'ask you to approve payments above this amount; repeatable for other assets',
  },
  'ask-over-limit': {
    type: 'boolean',
    description: 'ask you to approve payments beyond a limit instead of refusing them',
  },
  'ask-unknown': { type: 'boolean', description: 'ask you to approve payments to addresses outside --pay-to' },
  'max-fee': {
    type: 'string',
    placeholder: 'AMOUNT',
    description: 'maximum transaction fee (0.01 ALGO)',
  },
  app: {
    type: 'string',
    multiple: true,
    placeholder: 'ID',
    description: 'application that the agent may call; repeatable',
  },
  'opt-in': {
    type: 'string',
    multiple: true,
    placeholder: 'ID',
    description: 'asset that the agent may opt in to; repeatable',
  },
} as const satisfies { [name: string]: Option }

export type RuleValues = {
  readonly limit?: string[] | undefined
  readonly each?: string[] | undefined
  readonly 'pay-to'?: string[] | undefined
  readonly deny?: string[] | undefined
  readonly 'ask-above'?: string[] | undefined
  readonly 'ask-over-limit'?: boolean | undefined
  readonly 'ask-unknown'?: boolean | undefined
  readonly 'max-fee'?: string | undefined
  readonly app?: string[] | undefined
  readonly 'opt-in'?: string[] | undefined
}

/** Returns the rules of a new agent. @throws UsageError that names the option */
export function rulesFrom(given: RuleValues, network: RuleNetwork): Rules {
  const limits = limitsFrom(given, network)
  if (!limits.some(({ type }) => type === 'amount')) {
    throw new UsageError('an agent needs a spending limit', {
      hint: "give --limit '$5/day' or --limit '2 ALGO/total'; an asset without a limit cannot be spent",
    })
  }
  return checked({
    networks: [network.network],
    limits,
    payees: { allow: addresses('--pay-to', given['pay-to']) ?? 'all', deny: addresses('--deny', given.deny) ?? [] },
    applications: itemsFrom('--app', given.app, network),
    optIns: itemsFrom('--opt-in', given['opt-in'], network),
    dollars: declaredDollars(network.network, network.dollarAssetId),
    ...(given['max-fee'] !== undefined && { maxFeeMicroAlgos: readFee(given['max-fee']) }),
    ask: askFrom(given, network),
  })
}

/** Returns complete rules, checked as the daemon does, before a password is needed. @throws CommandError */
export function checked(given: NewRules): Rules {
  const rules = completeRules(given)
  try {
    validateRules(rules)
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    throw new CommandError('invalid_agent', error.message, { cause: error })
  }
  return rules
}

export function itemsFrom(
  option: '--app' | '--opt-in',
  ids: readonly string[] | undefined,
  { network }: RuleNetwork,
): NetworkItem[] {
  return [...new Set(ids)].map((id) => ({ network, id: readId(option, id) }))
}

/** Returns the limits in the options. */
export function limitsFrom({ limit = [], each = [] }: RuleValues, network: RuleNetwork): Limit[] {
  const texts: readonly [string, string][] = [
    ...limit.map((text): [string, string] => ['--limit', text]),
    ...each.map((text): [string, string] => ['--each', `each ${text}`]),
  ]
  return texts.map(([option, text]) => {
    return { ...naming(option, () => SpendLimit.parse(text, network)), network: network.network }
  })
}

export function askFrom(given: RuleValues, network: RuleNetwork): AskRules {
  const above = (given['ask-above'] ?? []).map((text) => ({
    network: network.network,
    ...naming('--ask-above', () => SpendLimit.parseAmount(text, network)),
  }))
  const [overLimit, unknownPayee] = [given['ask-over-limit'] ?? false, given['ask-unknown'] ?? false]
  return { above, overLimit, unknownPayee, otherTypes: false }
}

export function addresses(option: string, given: readonly string[] | undefined): string[] | undefined {
  for (const address of given ?? []) {
    if (!Address.isValid(address)) throw new UsageError(`${option} ${quoted(address)} is not an address`)
  }
  return given === undefined ? undefined : [...new Set(given)]
}

export function readFee(text: string): bigint {
  return naming('--max-fee', () => SpendLimit.parseFee(text))
}

function readId(option: string, text: string): bigint {
  const id = parseId(text)
  if (id === undefined) throw new UsageError(`${option} ${quoted(text)} is not an id: a whole number above 0`)
  return id
}

/** Converts a parse error to one that names the option. */
export function naming<T>(option: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof SpendLimit.SpendLimitError)) throw error
    throw new UsageError(`${option}: ${error.message}`, { hint: error.hint })
  }
}

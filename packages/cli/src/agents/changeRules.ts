/** Applies the options of `latchkey agent limit` to the rules of an agent. */
import {
  isSameLimit,
  type Limit,
  type NetworkItem,
  type PayeeRules,
  type Rules,
  SpendLimit,
} from '@latchkey/kmd-api/rules'
import type { Option } from '../Command.js'
import { UsageError } from '../errors.js'
import { quoted } from '../format.js'
import type { RuleNetwork } from './ruleNetwork.js'
import { addresses, askFrom, checked, itemsFrom, limitsFrom, naming, type RuleValues, readFee } from './rulesFrom.js'

export const changeOptions = {
  'no-limit': {
    type: 'string',
    multiple: true,
    placeholder: 'LIMIT',
    description: "remove this limit, as printed by latchkey agent show, such as '$5/day'; repeatable",
  },
  'pay-any': { type: 'boolean', description: 'let the agent pay any address that is not denied' },
  remove: {
    type: 'string',
    multiple: true,
    placeholder: 'ADDRESS',
    description: 'remove this address from the lists of --pay-to and --deny; repeatable',
  },
  'no-ask': { type: 'boolean', description: 'never ask you: refuse payments that the limits do not allow' },
} as const satisfies { [name: string]: Option }

export type ChangeValues = RuleValues & {
  readonly 'no-limit'?: string[] | undefined
  readonly 'pay-any'?: boolean | undefined
  readonly remove?: string[] | undefined
  readonly 'no-ask'?: boolean | undefined
}

/** @throws UsageError that names the option */
export function changeRules(rules: Rules, given: ChangeValues, network: RuleNetwork): Rules {
  const kept = withoutLimits(rules.limits, given['no-limit'] ?? [], network)
  const added = limitsFrom(given, network)
  return checked({
    ...rules,
    limits: [...kept.filter((one) => !added.some((other) => isSameLimit(one, other))), ...added],
    payees: changePayees(rules, given),
    applications: withItems(rules.applications, itemsFrom('--app', given.app, network)),
    optIns: withItems(rules.optIns, itemsFrom('--opt-in', given['opt-in'], network)),
    ...(given['max-fee'] !== undefined && { maxFeeMicroAlgos: readFee(given['max-fee']) }),
    ask: changeAsk(rules, given, network),
  })
}

function changePayees({ payees }: Rules, given: ChangeValues): PayeeRules {
  const [more, removed] = [addresses('--pay-to', given['pay-to']), addresses('--remove', given.remove) ?? []]
  if (given['pay-any'] && more !== undefined) {
    throw new UsageError('--pay-any and --pay-to exclude each other')
  }
  for (const address of removed) {
    if (payees.deny.includes(address) || (payees.allow !== 'all' && payees.allow.includes(address))) continue
    throw new UsageError(`--remove ${address}: the address is not on either list of the agent`)
  }
  const without = (list: readonly string[]): string[] => list.filter((address) => !removed.includes(address))
  const deny = [...new Set([...without(payees.deny), ...(addresses('--deny', given.deny) ?? [])])]
  if (given['pay-any']) return { allow: 'all', deny }
  // An agent that may pay every address is restricted to the list once it has one.
  const listed = payees.allow === 'all' ? [] : without(payees.allow)
  return {
    allow: payees.allow === 'all' && more === undefined ? 'all' : [...new Set([...listed, ...(more ?? [])])],
    deny,
  }
}

function changeAsk({ ask }: Rules, given: ChangeValues, network: RuleNetwork): Rules['ask'] {
  const asked = askFrom(given, network)
  if (given['no-ask']) return { ...asked, otherTypes: false }
  return {
    ...ask,
    above: given['ask-above'] === undefined ? ask.above : asked.above,
    overLimit: ask.overLimit || asked.overLimit,
    unknownPayee: ask.unknownPayee || asked.unknownPayee,
  }
}

function withItems(items: readonly NetworkItem[], more: readonly NetworkItem[]): NetworkItem[] {
  const isNew = ({ network, id }: NetworkItem): boolean =>
    !items.some((item) => item.network === network && item.id === id)
  return [...items, ...more.filter(isNew)]
}

function withoutLimits(limits: readonly Limit[], texts: readonly string[], network: RuleNetwork): Limit[] {
  let left = [...limits]
  const textOf = (limit: SpendLimit.SpendLimit): string => SpendLimit.format(limit, network)
  for (const text of texts) {
    const wanted = textOf(naming('--no-limit', () => SpendLimit.parse(text, network)))
    const isWanted = (limit: Limit): boolean => limit.network === network.network && textOf(limit) === wanted
    if (!left.some(isWanted)) {
      const has = left.map(textOf).join(', ')
      throw new UsageError(`--no-limit: the agent has no limit ${quoted(wanted)}`, { hint: `its limits: ${has}` })
    }
    left = left.filter((limit) => !isWanted(limit))
  }
  return left
}

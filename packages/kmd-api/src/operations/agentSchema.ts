/** Agents and their rules as members of requests and responses. */

import { ascii, bool, uint } from '../members.js'
import { bounds } from '../rules/bounds.js'
import { toLimit, toRules } from '../rules/Rules.js'
import { periods } from '../rules/SpendLimit.js'
import type { Field, Member, MembersOf, Shape } from '../Schema.js'

const list = <const K>(name: string, of: K, max: number) =>
  ({ type: 'list', of, max, tooLong: 'bad_agent', tooLongText: `${name} is too long, must be <= ${max}` }) as const

const network = { name: 'network', kind: ascii, about: 'The genesis hash, in base64' } as const
const assetId = { name: 'asset_id', kind: ascii, about: 'As decimal text; 0 or absent for ALGO' } as const
const amount = { name: 'amount', kind: ascii, about: 'In the smallest unit, as decimal text' } as const

const limitFields = [
  { name: 'per', kind: ascii, about: 'payment, hour, day, week, 30days or total' },
  network,
  { name: 'type', kind: ascii, about: 'amount or count' },
  assetId,
  amount,
  { name: 'count', kind: uint, about: 'Number of payments, for the type count' },
  { name: 'payee', kind: ascii, about: 'Counts payments to this address only; absent for all' },
] as const satisfies readonly Field[]

const itemFields = [network, { name: 'id', kind: ascii, about: 'As decimal text' }] as const

/** The rules of an agent in a request. */
export const rulesField = {
  name: 'rules',
  about: 'Transactions that the agent may sign. Anything that no rule allows is refused',
  kind: {
    type: 'object',
    fields: [
      { name: 'networks', kind: list('rules.networks', ascii, bounds.networks), about: 'Genesis hashes, in base64' },
      {
        name: 'limits',
        kind: list('rules.limits', { type: 'object', fields: limitFields } as const, bounds.limits),
        about: 'At least one must limit an amount; an asset without a limit cannot be spent, and fees count as ALGO',
      },
      {
        name: 'payees',
        about: 'Addresses that may be paid; absent for none',
        kind: {
          type: 'object',
          fields: [
            { name: 'allow_all', kind: bool, about: 'Whether every address may be paid, except those in deny' },
            { name: 'allow', kind: list('rules.payees.allow', ascii, bounds.payees), about: 'Addresses' },
            { name: 'deny', kind: list('rules.payees.deny', ascii, bounds.payees), about: 'Addresses' },
          ],
        },
      },
      {
        name: 'applications',
        kind: list('rules.applications', { type: 'object', fields: itemFields } as const, bounds.items),
        about: 'Applications that the agent may call',
      },
      {
        name: 'opt_ins',
        kind: list('rules.opt_ins', { type: 'object', fields: itemFields } as const, bounds.items),
        about: 'Assets that the agent may opt in to',
      },
      {
        name: 'dollars',
        kind: list('rules.dollars', { type: 'object', fields: itemFields } as const, bounds.networks),
        about:
          'Assets with six decimals that are shown as dollars, on networks that are not public; listing an asset allows nothing',
      },
      { name: 'max_fee_micro_algos', kind: ascii, about: 'For one transaction, as decimal text; 10000 if absent' },
      { name: 'max_valid_rounds', kind: uint, about: 'From first to last valid round; 1000 if 0 or absent' },
      {
        name: 'ask',
        about: "Payments that need the owner's approval; absent for none",
        kind: {
          type: 'object',
          fields: [
            {
              name: 'above',
              kind: list(
                'rules.ask.above',
                { type: 'object', fields: [network, assetId, amount] } as const,
                bounds.thresholds,
              ),
              about: 'A payment above one of these needs an approval',
            },
            {
              name: 'over_limit',
              kind: bool,
              about: 'Whether a payment beyond a limit needs an approval instead of being refused',
            },
            {
              name: 'unknown_payee',
              kind: bool,
              about: 'Whether a payment to an address outside allow needs an approval instead of being refused',
            },
            { name: 'other_types', kind: bool, about: 'Whether every application call and opt-in needs an approval' },
          ],
        },
      },
    ],
  },
} as const satisfies Field

const text = { type: 'string' } as const
const bigInteger = { type: 'integer' } as const
const flag = { type: 'bool' } as const
const integer = { type: 'uint', format: 'int64' } as const
const texts = { type: 'list', of: text } as const

const limitShape = {
  type: 'object',
  name: 'AgentLimit',
  members: [
    { name: 'per', shape: { type: 'string', oneOf: periods } },
    { name: 'network', shape: text },
    { name: 'type', shape: { type: 'string', oneOf: ['amount', 'count'] } },
    { name: 'asset_id', shape: text, about: 'Blank for a count' },
    { name: 'amount', shape: text, about: 'Blank for a count' },
    { name: 'count', shape: integer, about: '0 for an amount' },
    { name: 'payee', shape: text, about: 'Blank for all' },
  ],
  convert: toLimit,
} as const satisfies Shape

const itemShape = {
  type: 'object',
  name: 'NetworkItem',
  members: [
    { name: 'network', shape: text },
    { name: 'id', shape: bigInteger },
  ],
} as const satisfies Shape

const payeesShape = {
  type: 'object',
  name: 'AgentPayees',
  members: [
    { name: 'allow_all', shape: flag },
    { name: 'allow', shape: texts },
    { name: 'deny', shape: texts },
  ],
} as const satisfies Shape

const thresholdShape = {
  type: 'object',
  name: 'AgentThreshold',
  members: [
    { name: 'network', shape: text },
    { name: 'asset_id', shape: bigInteger },
    { name: 'amount', shape: bigInteger },
  ],
} as const satisfies Shape

const askShape = {
  type: 'object',
  name: 'AgentAsk',
  members: [
    { name: 'above', shape: { type: 'list', of: thresholdShape } },
    { name: 'over_limit', shape: flag },
    { name: 'unknown_payee', shape: flag },
    { name: 'other_types', shape: flag },
  ],
} as const satisfies Shape

const rulesShape = {
  type: 'object',
  name: 'AgentRules',
  members: [
    { name: 'networks', shape: texts },
    { name: 'limits', shape: { type: 'list', of: limitShape } },
    { name: 'payees', shape: payeesShape },
    { name: 'applications', shape: { type: 'list', of: itemShape } },
    { name: 'opt_ins', shape: { type: 'list', of: itemShape } },
    { name: 'dollars', shape: { type: 'list', of: itemShape } },
    { name: 'max_fee_micro_algos', shape: bigInteger },
    { name: 'max_valid_rounds', shape: integer },
    { name: 'ask', shape: askShape },
  ],
  convert: toRules,
} as const satisfies Shape

const state = {
  type: 'string',
  oneOf: ['active', 'paused', 'suspended', 'revoked', 'expired', 'key_deleted', 'wallet_deleted'],
} as const

export const agentShape = {
  type: 'object',
  name: 'Agent',
  members: [
    { name: 'id', shape: text },
    { name: 'name', shape: text },
    { name: 'wallet_id', shape: text },
    { name: 'wallet_name', shape: { type: 'text' }, about: 'Blank if the wallet was deleted' },
    { name: 'addresses', shape: texts },
    {
      name: 'state',
      shape: state,
      about: 'active, paused, suspended, revoked, expired, key_deleted or wallet_deleted',
    },
    { name: 'suspended_reason', shape: text, blank: true, about: 'Why the agent is suspended; blank if it is not' },
    { name: 'created_at_ms', shape: integer },
    { name: 'expires_at_ms', shape: integer, about: '0 for never' },
    { name: 'last_used_at_ms', shape: integer, about: '0 for never' },
    {
      name: 'same_user',
      shape: flag,
      about:
        "Whether the agent was seen to run as the daemon's user: it can then read the daemon's files and bypass every limit",
    },
    { name: 'rules', shape: rulesShape },
  ],
} as const satisfies Shape

export const agentMember = { name: 'agent', shape: agentShape } as const satisfies Member

export const budgetMember = {
  name: 'budget',
  shape: {
    type: 'list',
    of: {
      type: 'object',
      name: 'AgentLimitUse',
      members: [
        { name: 'limit', shape: limitShape },
        { name: 'text', shape: text, about: 'The limit in the words of the command line, such as $5/day' },
        { name: 'used', shape: bigInteger, about: 'As decimal text' },
        { name: 'left', shape: bigInteger, about: 'As decimal text' },
        {
          name: 'resets_at_ms',
          shape: integer,
          about: 'When more is available; 0 for never, or if all of the limit is available',
        },
      ],
    },
  },
} as const satisfies Member

export const decisionMembers = [
  {
    name: 'decision',
    shape: { type: 'string', oneOf: ['allowed', 'ask', 'refused'] },
    about: 'allowed, ask (the owner would be asked) or refused',
  },
  { name: 'rule', shape: text, blank: true, about: 'The rule that decides, in the words of the command line' },
  { name: 'refusal', shape: { type: 'json' }, about: 'As in the header Latchkey-Refusal', optional: true },
] as const satisfies readonly Member[]

/** Agents, rules and limits, as the daemon writes them. */
export type Written = {
  readonly agent: MembersOf<typeof agentShape.members>
  readonly rules: MembersOf<typeof rulesShape.members>
  readonly limit: MembersOf<typeof limitShape.members>
}

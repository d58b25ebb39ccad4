/** Agents in the daemon's responses, and rules as the daemon reads them. */
import { SpendLimit } from '@latchkey/algorand'
import type { Agent, AgentLimit, AgentLimitUse, AgentNetworkItem, AgentRules, AgentState } from '@latchkey/kmd-client'
import * as Fields from './fields.js'

const states: readonly AgentState[] = [
  'active',
  'paused',
  'suspended',
  'revoked',
  'expired',
  'key_deleted',
  'wallet_deleted',
]

export function toAgent(response: Fields.JsonObject): Agent {
  const state = Fields.string(response, 'state')
  return {
    id: Fields.string(response, 'id'),
    name: Fields.string(response, 'name'),
    walletId: Fields.string(response, 'wallet_id'),
    walletName: Fields.string(response, 'wallet_name'),
    addresses: Fields.strings(response, 'addresses'),
    // Offers no actions for a state of a newer daemon.
    state: states.find((known) => known === state) ?? 'revoked',
    suspendedReason: Fields.string(response, 'suspended_reason') || undefined,
    createdAtMs: Fields.number(response, 'created_at_ms'),
    expiresAtMs: Fields.number(response, 'expires_at_ms') || undefined,
    lastUsedAtMs: Fields.number(response, 'last_used_at_ms') || undefined,
    isSameUser: Fields.boolean(response, 'same_user'),
    rules: toRules(Fields.object(response, 'rules')),
  }
}

function toRules(response: Fields.JsonObject): AgentRules {
  const payees = Fields.object(response, 'payees')
  const ask = Fields.object(response, 'ask')
  return {
    networks: Fields.strings(response, 'networks'),
    limits: Fields.objects(response, 'limits').map(toLimit),
    payees: {
      allow: Fields.boolean(payees, 'allow_all') ? 'all' : Fields.strings(payees, 'allow'),
      deny: Fields.strings(payees, 'deny'),
    },
    applications: Fields.objects(response, 'applications').map(toItem),
    optIns: Fields.objects(response, 'opt_ins').map(toItem),
    dollars: Fields.objects(response, 'dollars').map(toItem),
    maxFeeMicroAlgos: integer(response, 'max_fee_micro_algos'),
    maxValidRounds: Fields.number(response, 'max_valid_rounds'),
    ask: {
      above: Fields.objects(ask, 'above').map((one) => ({
        network: Fields.string(one, 'network'),
        assetId: integer(one, 'asset_id'),
        amount: integer(one, 'amount'),
      })),
      overLimit: Fields.boolean(ask, 'over_limit'),
      unknownPayee: Fields.boolean(ask, 'unknown_payee'),
      otherTypes: Fields.boolean(ask, 'other_types'),
    },
  }
}

function toItem(response: Fields.JsonObject): AgentNetworkItem {
  return { network: Fields.string(response, 'network'), id: integer(response, 'id') }
}

function toLimit(response: Fields.JsonObject): AgentLimit {
  const per = SpendLimit.periods.find((period) => period === Fields.string(response, 'per')) ?? 'total'
  const payee = Fields.string(response, 'payee')
  const base = { per, network: Fields.string(response, 'network'), ...(payee === '' ? {} : { payee }) }
  return Fields.string(response, 'type') === 'count'
    ? { ...base, type: 'count', count: Fields.number(response, 'count') }
    : { ...base, type: 'amount', assetId: integer(response, 'asset_id'), amount: integer(response, 'amount') }
}

export function toLimitUse(response: Fields.JsonObject): AgentLimitUse {
  return {
    limit: toLimit(Fields.object(response, 'limit')),
    text: Fields.string(response, 'text'),
    used: integer(response, 'used'),
    left: integer(response, 'left'),
    resetsAtMs: Fields.number(response, 'resets_at_ms') || undefined,
  }
}

function integer(response: Fields.JsonObject, name: string): bigint {
  return BigInt(Fields.digits(response, name))
}

/** Writes rules in the form that the daemon reads. */
export function writeRules(rules: AgentRules): object {
  const { payees, ask } = rules
  const writeItem = ({ network, id }: AgentNetworkItem): object => ({ network, id: String(id) })
  return {
    networks: rules.networks,
    limits: rules.limits.map(writeLimit),
    payees: {
      allow_all: payees.allow === 'all',
      allow: payees.allow === 'all' ? [] : payees.allow,
      deny: payees.deny,
    },
    applications: rules.applications.map(writeItem),
    opt_ins: rules.optIns.map(writeItem),
    dollars: rules.dollars.map(writeItem),
    max_fee_micro_algos: String(rules.maxFeeMicroAlgos),
    max_valid_rounds: rules.maxValidRounds,
    ask: {
      above: ask.above.map(({ network, assetId, amount }) => ({
        network,
        asset_id: String(assetId),
        amount: String(amount),
      })),
      over_limit: ask.overLimit,
      unknown_payee: ask.unknownPayee,
      other_types: ask.otherTypes,
    },
  }
}

function writeLimit(limit: AgentLimit): object {
  const { per, network, payee, type } = limit
  const base = { per, network, type, ...(payee === undefined ? {} : { payee }) }
  return limit.type === 'count'
    ? { ...base, count: limit.count }
    : { ...base, asset_id: String(limit.assetId), amount: String(limit.amount) }
}

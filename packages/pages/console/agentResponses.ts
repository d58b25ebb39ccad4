/** Agents in the daemon's responses. */
import { parseLimit, parseRules } from '@latchkey/kmd-api/rules'
import type { Agent, AgentLimitUse, AgentState } from '@latchkey/kmd-client'
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
    rules: parseRules(response['rules']),
  }
}

export function toLimitUse(response: Fields.JsonObject): AgentLimitUse {
  return {
    limit: parseLimit(response['limit'], 'limit'),
    text: Fields.string(response, 'text'),
    used: integer(response, 'used'),
    left: integer(response, 'left'),
    resetsAtMs: Fields.number(response, 'resets_at_ms') || undefined,
  }
}

function integer(response: Fields.JsonObject, name: string): bigint {
  return BigInt(Fields.digits(response, name))
}

/** Writes agents and their rules as members of responses. */
import type { Written } from '@latchkey/kmd-api'
import { formatLimit, type Rules, writeLimit, writeRules } from '@latchkey/kmd-api/rules'
import type { Agent } from '../agents/Agent.js'
import type { Seen } from '../agents/AgentPresence.js'
import type { LimitUse } from '../agents/AgentsApi.js'

export function writeAgent(agent: Agent, walletName: Uint8Array, seen: Seen | undefined) {
  return {
    id: agent.id,
    name: agent.name,
    wallet_id: agent.walletId,
    wallet_name: walletName,
    addresses: agent.addresses,
    state: agent.state,
    suspended_reason: agent.suspendedReason ?? '',
    created_at_ms: agent.createdAtMs,
    expires_at_ms: agent.expiresAtMs ?? 0,
    last_used_at_ms: Math.max(agent.lastUsedAtMs ?? 0, seen?.lastUsedAtMs ?? 0),
    same_user: seen?.isSameUser ?? false,
    rules: writeRules(agent.rules),
  } satisfies Written['agent']
}

export function writeUse(use: LimitUse, { dollars }: Rules) {
  return {
    limit: writeLimit(use.limit),
    text: formatLimit(use.limit, dollars),
    used: String(use.used),
    left: String(use.left),
    resets_at_ms: use.resetsAtMs ?? 0,
  }
}

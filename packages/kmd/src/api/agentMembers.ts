/** Writes agents and their rules as members of responses. */
import type { Schemas } from '@latchkey/kmd-api'
import type { Agent, Limit, Rules } from '../agents/Agent.js'
import type { Seen } from '../agents/AgentPresence.js'
import type { LimitUse } from '../agents/AgentsApi.js'
import { limitText } from '../agents/limitText.js'

type Written = Schemas.Written

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

function writeRules(rules: Rules): Written['rules'] {
  const writeItem = ({ network, id }: { network: string; id: bigint }) => ({ network, id: String(id) })
  return {
    networks: rules.networks,
    limits: rules.limits.map(writeLimit),
    payees: {
      allow_all: rules.payees.allow === undefined,
      allow: rules.payees.allow ?? [],
      deny: rules.payees.deny,
    },
    applications: rules.applications.map(writeItem),
    opt_ins: rules.optIns.map(writeItem),
    dollars: rules.dollars.map(writeItem),
    max_fee_micro_algos: String(rules.maxFeeMicroAlgos),
    max_valid_rounds: rules.maxValidRounds,
    ask: {
      above: rules.ask.above.map((threshold) => ({
        network: threshold.network,
        asset_id: String(threshold.assetId),
        amount: String(threshold.amount),
      })),
      over_limit: rules.ask.overLimit,
      unknown_payee: rules.ask.unknownPayee,
      other_types: rules.ask.otherTypes,
    },
  }
}

function writeLimit(limit: Limit): Written['limit'] {
  const isAmount = limit.type === 'amount'
  return {
    per: limit.per,
    network: limit.network,
    type: limit.type,
    asset_id: isAmount ? String(limit.assetId) : '',
    amount: isAmount ? String(limit.amount) : '',
    count: isAmount ? 0 : limit.count,
    payee: limit.payee ?? '',
  }
}

export function writeUse(use: LimitUse, { dollars }: Rules) {
  return {
    limit: writeLimit(use.limit),
    text: limitText(use.limit, dollars),
    used: String(use.used),
    left: String(use.left),
    resets_at_ms: use.resetsAtMs ?? 0,
  }
}

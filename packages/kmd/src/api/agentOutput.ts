/** Builds the responses of operations on agents. */
import type { Transaction } from '@latchkey/algorand'
import type { Written } from '@latchkey/kmd-api'
import { formatLimit, type Rules, writeLimit, writeRules } from '@latchkey/kmd-api/rules'
import type { Agent } from '../agents/Agent.js'
import type { Seen } from '../agents/AgentPresence.js'
import type { Decision, LimitUse } from '../agents/AgentsApi.js'
import { refusalJson } from '../agents/refusalError.js'
import type { Query } from '../audit/searchLog.js'
import { KmdError } from '../errors.js'
import { recordOutputs } from './auditOperations.js'
import type { Context } from './Context.js'
import { readTransactions } from './transferOperations.js'

const nothing = new Uint8Array()

export async function describeAgents({ wallets, agentPresence }: Context, agents: readonly Agent[]) {
  // Agents are listed even if the wallets directory cannot be read.
  const entries = await wallets.list().catch(() => [])
  const names = new Map(entries.map(({ key, name }) => [key, name]))
  return agents.map((agent) => writeAgent(agent, names.get(agent.walletId) ?? nothing, agentPresence.of(agent.id)))
}

export async function describeAgent(context: Context, agent: Agent) {
  const [described] = await describeAgents(context, [agent])
  return described!
}

export async function describeBudget({ agents }: Context, { id, rules }: Agent) {
  await agents.prepare(id)
  return agents.budget(id).map((use) => writeUse(use, rules))
}

/** Audit records, newest first. */
export async function describeHistory({ audit, wallets }: Context, query: Query) {
  const { records, continueFrom = 0 } = await audit.search(query)
  return { records: await recordOutputs(records, wallets), continue_from: continueFrom }
}

export function writeDecision(decision: Decision) {
  if (decision.type === 'allowed') return { decision: decision.type, rule: decision.rule, refusal: undefined }
  return { decision: decision.type, rule: decision.refusal.rule, refusal: refusalJson(decision.refusal) }
}

/** Reads a single transaction, signed or unsigned. */
export function readTransaction(given: Uint8Array): Transaction.Canonical {
  const [member, ...others] = readTransactions(given)
  if (member === undefined || others.length > 0) {
    throw new KmdError('bad_transaction', {
      message: 'send one transaction: each member of a group is decided separately',
    })
  }
  return { bytes: member.bytes, sender: member.transaction.snd }
}

function writeAgent(agent: Agent, walletName: Uint8Array, seen: Seen | undefined) {
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

function writeUse(use: LimitUse, { dollars }: Rules) {
  return {
    limit: writeLimit(use.limit),
    text: formatLimit(use.limit, dollars),
    used: String(use.used),
    left: String(use.left),
    resets_at_ms: use.resetsAtMs ?? 0,
  }
}

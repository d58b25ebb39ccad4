/** Agents, budgets and decisions in the daemon's responses. */
import type { Agent, AgentDecision, AgentLimitUse, AgentRefusal, AgentState } from './agentTypes.js'
import { invalidResponse } from './KmdClientError.js'
import type { Operation, ResponseTo } from './operations.js'

const states: readonly AgentState[] = [
  'active',
  'paused',
  'suspended',
  'revoked',
  'expired',
  'key_deleted',
  'wallet_deleted',
]

export type ReadAgent = ResponseTo<'ShowAgent'>['agent']

export function readAgent(operation: Operation, { sameUser, ...agent }: ReadAgent): Agent {
  if (!states.includes(agent.state)) return invalidResponse(operation, 'state')
  return {
    ...agent,
    suspendedReason: agent.suspendedReason || undefined,
    expiresAtMs: agent.expiresAtMs || undefined,
    lastUsedAtMs: agent.lastUsedAtMs || undefined,
    isSameUser: sameUser,
  }
}

export function readBudget(budget: ResponseTo<'ShowAgent'>['budget']): AgentLimitUse[] {
  return budget.map((use) => ({ ...use, resetsAtMs: use.resetsAtMs || undefined }))
}

export function readDecision(operation: Operation, response: ResponseTo<'TestAgent'>): AgentDecision {
  const { decision, rule, refusal } = response
  if (!decisions.includes(decision)) return invalidResponse(operation, 'decision')
  return { decision, rule, refusal: refusal === undefined ? undefined : readRefusal(refusal) }
}

const decisions: readonly AgentDecision['decision'][] = ['allowed', 'ask', 'refused']

/**
 * Reads a refusal from an error's header or body; undefined if it is malformed, because any program may listen at the
 * address.
 */
export function readRefusal(json: unknown): AgentRefusal | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { code, rule, unit, asked, left, resetsAt } = json as { [member: string]: unknown }
  if (typeof code !== 'string' || typeof rule !== 'string') return undefined
  const resetsAtMs = typeof resetsAt === 'string' ? Date.parse(resetsAt) : Number.NaN
  return {
    code,
    rule,
    unit: typeof unit === 'string' ? unit : undefined,
    asked: readAmount(asked),
    left: readAmount(left),
    resetsAtMs: Number.isNaN(resetsAtMs) ? undefined : resetsAtMs,
  }
}

function readAmount(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^-?[0-9]{1,40}$/.test(value) ? BigInt(value) : undefined
}

/** Decodes agents in responses. */
import { parseLimit, parseRules } from '@latchkey/kmd-api/rules'
import type { Agent, AgentDecision, AgentLimitUse, AgentRefusal, AgentState } from './agentTypes.js'
import type { ResponseBody } from './ResponseBody.js'

const states: readonly AgentState[] = [
  'active',
  'paused',
  'suspended',
  'revoked',
  'expired',
  'key_deleted',
  'wallet_deleted',
]
const decisions = ['allowed', 'ask', 'refused'] as const

export function readAgent(body: ResponseBody): Agent {
  // Older daemons do not send this member.
  const suspendedReason = body.members['suspended_reason'] === undefined ? '' : body.text('suspended_reason')
  return {
    id: body.text('id'),
    name: body.text('name'),
    walletId: body.text('wallet_id'),
    walletName: body.text('wallet_name'),
    addresses: body.texts('addresses'),
    state: body.oneOf('state', states),
    suspendedReason: suspendedReason === '' ? undefined : suspendedReason,
    createdAtMs: body.integer('created_at_ms'),
    expiresAtMs: body.integer('expires_at_ms') || undefined,
    lastUsedAtMs: body.integer('last_used_at_ms') || undefined,
    isSameUser: body.bool('same_user'),
    rules: body.parse('rules', parseRules),
  }
}

export function readBudget(body: ResponseBody): AgentLimitUse[] {
  return body.objects('budget').map((use) => ({
    limit: use.parse('limit', parseLimit),
    text: use.text('text'),
    used: use.bigint('used'),
    left: use.bigint('left'),
    resetsAtMs: use.integer('resets_at_ms') || undefined,
  }))
}

export function readDecision(body: ResponseBody): AgentDecision {
  const refusal = body.members['refusal']
  return {
    decision: body.oneOf('decision', decisions),
    rule: body.members['rule'] === undefined ? '' : body.text('rule'),
    refusal: refusal === undefined ? undefined : readRefusal(refusal),
  }
}

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

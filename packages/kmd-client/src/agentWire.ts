/** Encodes and decodes agents in requests and responses. */
import type {
  Agent,
  AgentAsk,
  AgentDecision,
  AgentLimit,
  AgentLimitUse,
  AgentNetworkItem,
  AgentPeriod,
  AgentRefusal,
  AgentRules,
  AgentState,
  NewAgentRules,
} from './agentTypes.js'
import type { Members } from './RequestBody.js'
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
const periods: readonly AgentPeriod[] = ['payment', 'hour', 'day', 'week', '30days', 'total']
const decisions = ['allowed', 'ask', 'refused'] as const

export function writeRules(rules: NewAgentRules): Members {
  const { payees, ask = {} } = rules
  const writeItem = ({ network, id }: AgentNetworkItem): Members => ({ network, id: String(id) })
  return {
    networks: rules.networks,
    limits: rules.limits.map(writeLimit),
    payees: {
      allow_all: payees.allow === 'all',
      allow: payees.allow === 'all' ? [] : payees.allow,
      deny: payees.deny ?? [],
    },
    applications: (rules.applications ?? []).map(writeItem),
    opt_ins: (rules.optIns ?? []).map(writeItem),
    dollars: (rules.dollars ?? []).map(writeItem),
    max_fee_micro_algos: rules.maxFeeMicroAlgos === undefined ? undefined : String(rules.maxFeeMicroAlgos),
    max_valid_rounds: rules.maxValidRounds,
    ask: {
      above: (ask.above ?? []).map(writeThreshold),
      over_limit: ask.overLimit ?? false,
      unknown_payee: ask.unknownPayee ?? false,
      other_types: ask.otherTypes ?? false,
    },
  }
}

function writeThreshold({ network, assetId, amount }: AgentAsk['above'][number]): Members {
  return { network, asset_id: String(assetId), amount: String(amount) }
}

function writeLimit(limit: AgentLimit): Members {
  const { per, network, payee, type } = limit
  const base = { per, network, payee, type }
  return limit.type === 'count'
    ? { ...base, count: limit.count }
    : { ...base, asset_id: String(limit.assetId), amount: String(limit.amount) }
}

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
    rules: readRules(body.object('rules')),
  }
}

function readRules(body: ResponseBody): AgentRules {
  const [payees, ask] = [body.object('payees'), body.object('ask')]
  const readItem = (item: ResponseBody) => ({ network: item.text('network'), id: item.bigint('id') })
  return {
    networks: body.texts('networks'),
    limits: body.objects('limits').map(readLimit),
    payees: { allow: payees.bool('allow_all') ? 'all' : payees.texts('allow'), deny: payees.texts('deny') },
    applications: body.objects('applications').map(readItem),
    optIns: body.objects('opt_ins').map(readItem),
    dollars: body.objects('dollars').map(readItem),
    maxFeeMicroAlgos: body.bigint('max_fee_micro_algos'),
    maxValidRounds: body.integer('max_valid_rounds'),
    ask: {
      above: ask.objects('above').map((threshold) => ({
        network: threshold.text('network'),
        assetId: threshold.bigint('asset_id'),
        amount: threshold.bigint('amount'),
      })),
      overLimit: ask.bool('over_limit'),
      unknownPayee: ask.bool('unknown_payee'),
      otherTypes: ask.bool('other_types'),
    },
  }
}

function readLimit(body: ResponseBody): AgentLimit {
  const payee = body.text('payee')
  const base = {
    per: body.oneOf('per', periods),
    network: body.text('network'),
    ...(payee === '' ? {} : { payee }),
  }
  return body.oneOf('type', ['amount', 'count']) === 'count'
    ? { ...base, type: 'count', count: body.integer('count') }
    : { ...base, type: 'amount', assetId: body.bigint('asset_id'), amount: body.bigint('amount') }
}

export function readBudget(body: ResponseBody): AgentLimitUse[] {
  return body.objects('budget').map((use) => ({
    limit: readLimit(use.object('limit')),
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

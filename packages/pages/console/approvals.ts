/** The daemon's operations on approvals. */
import type { Approval, ApprovalState } from '@latchkey/kmd-client'
import type { Api } from './api.js'
import * as Fields from './fields.js'

export type ApprovalList = { approvals: readonly Approval[]; leftOut: number; revision: string }

const states: readonly ApprovalState[] = ['open', 'approved', 'denied', 'expired', 'used']
const prefix = '/latchkey/v1/approvals'

/** Returns all waiting approvals and the latest of the others, newest first. */
export async function list(api: Api): Promise<ApprovalList> {
  return toList(await api.send({ method: 'POST', path: `${prefix}/list`, body: { all: true } }))
}

/**
 * Returns the open approvals once something has changed since the revision, or on timeout. Does not renew the session.
 */
export async function watch(
  api: Api,
  options: { revision: string; waitSeconds: number; signal: AbortSignal },
): Promise<ApprovalList> {
  const body = { revision: options.revision, wait_seconds: options.waitSeconds }
  return toList(await api.send({ method: 'POST', path: `${prefix}/watch`, body, signal: options.signal }))
}

export async function decide(api: Api, id: string, decision: 'approve' | 'deny'): Promise<void> {
  await api.send({ method: 'POST', path: `${prefix}/${decision}`, body: { approval_id: id } })
}

function toList(response: Fields.JsonObject): ApprovalList {
  return {
    approvals: Fields.objects(response, 'approvals').map(toApproval),
    leftOut: Fields.number(response, 'left_out'),
    revision: Fields.string(response, 'revision'),
  }
}

function toApproval(response: Fields.JsonObject): Approval {
  const text = (name: string): string => Fields.string(response, name)
  const amount = (name: string): bigint | undefined =>
    text(name) === '' ? undefined : BigInt(Fields.digits(response, name))
  return {
    id: text('id'),
    agentId: text('agent_id'),
    agentName: text('agent_name'),
    // An approval in a state of a newer daemon cannot be decided here.
    state: states.find((known) => known === text('state')) ?? 'expired',
    transactionId: text('transaction_id'),
    transaction: Fields.bytes(response['transaction']),
    description: Fields.strings(response, 'description'),
    warnings: Fields.strings(response, 'warnings'),
    reason: text('reason'),
    rules: Fields.strings(response, 'rules'),
    rule: text('rule'),
    unit: text('unit'),
    asked: amount('asked'),
    left: amount('left'),
    claimedUrl: text('claimed_url'),
    claimedDescription: text('claimed_description'),
    createdAtMs: Fields.number(response, 'created_at_ms'),
    expiresAtMs: Fields.number(response, 'expires_at_ms'),
    decidedAtMs: Fields.number(response, 'decided_at_ms') || undefined,
  }
}

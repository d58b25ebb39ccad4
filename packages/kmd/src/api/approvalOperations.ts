/**
 * Operations on agents' approval requests. The owner lists, watches and decides them with the API token or in the
 * console; the agent waits for the decision.
 */
import { Description, Transaction } from '@latchkey/algorand'
import { type Approval, reasonOf, rulesOf } from '../agents/approvals/Approval.js'
import type { Approvals } from '../agents/approvals/Approvals.js'
import type { Actor } from '../audit/AuditRecord.js'
import { KmdError } from '../errors.js'
import type { Shape } from '../wire/Wire.js'
import { type Caller, requireAgent } from './Caller.js'
import { extraPrefix } from './latchkeyOperations.js'
import { ascii, bool, define, uint } from './Operation.js'

const text = { type: 'string' } as const
const time = { type: 'uint', format: 'int64' } as const

/** An approval in the API. Amounts are decimal text in the smallest unit, blank if the rule has none. */
export const approvalShape = {
  type: 'object',
  name: 'Approval',
  members: [
    { name: 'id', shape: text },
    { name: 'agent_id', shape: text },
    { name: 'agent_name', shape: text },
    { name: 'state', shape: text, about: 'open, approved, denied, expired or used' },
    { name: 'transaction_id', shape: text },
    { name: 'transaction', shape: { type: 'base64' } },
    { name: 'description', shape: { type: 'list', of: text }, about: 'What the transaction does, in words' },
    { name: 'warnings', shape: { type: 'list', of: text } },
    { name: 'reason', shape: text, about: 'Why the owner is asked: a sentence for each rule' },
    {
      name: 'rules',
      shape: { type: 'list', of: text },
      about: 'Every rule that asks. The approval lifts these, and no other',
    },
    { name: 'rule', shape: text, about: 'The first of the rules' },
    { name: 'unit', shape: text, about: 'The unit of asked and left' },
    { name: 'asked', shape: text, about: 'In the smallest unit; blank where the rule has no amount' },
    { name: 'left', shape: text, about: 'What was left of the limit when the agent asked' },
    { name: 'claimed_url', shape: text, about: 'What the caller says it pays for. Not checked' },
    { name: 'claimed_description', shape: text, about: 'What the caller says. Not checked' },
    { name: 'created_at_ms', shape: time },
    { name: 'expires_at_ms', shape: time },
    { name: 'decided_at_ms', shape: time, about: '0 if it is not decided' },
  ],
} as const satisfies Shape

/** Converts an approval to its API form. */
export function approvalMember(approval: Approval) {
  const { lines, warnings } = Description.describe(Transaction.decode(approval.transaction))
  const { rule = '', unit = '', asked = '', left = '' } = approval.refusals[0]!
  return {
    id: approval.id,
    agent_id: approval.agentId,
    agent_name: approval.agentName,
    state: approval.state,
    transaction_id: approval.transactionId,
    transaction: approval.transaction,
    description: lines,
    warnings,
    reason: reasonOf(approval),
    rules: rulesOf(approval),
    rule,
    unit,
    asked,
    left,
    claimed_url: approval.claimedUrl,
    claimed_description: approval.claimedDescription,
    created_at_ms: approval.createdAtMs,
    expires_at_ms: approval.expiresAtMs,
    decided_at_ms: approval.decidedAtMs ?? 0,
  }
}

/** Converts an approval to its webhook form: as in responses, with the transaction in base64. */
export function approvalJson(approval: Approval): object {
  return { ...approvalMember(approval), transaction: Buffer.from(approval.transaction).toString('base64') }
}

const approvalId = { name: 'approval_id', kind: ascii, about: 'The id of the approval' } as const
const waitSeconds = { name: 'wait_seconds', kind: uint, about: 'How long to wait, at most 30' } as const
const all = { name: 'all', kind: bool, about: 'Lists the latest 200 decided and expired ones, too' } as const
const approvalList = [
  { name: 'approvals', shape: { type: 'list', of: approvalShape }, about: 'Newest first' },
  { name: 'left_out', shape: { type: 'uint', format: 'int64' }, about: 'How many older ones are not listed' },
  { name: 'revision', shape: text, about: 'Changes with every approval that is asked for, decided, used or expires' },
] as const
const maxWaitSeconds = 30
const path = `${extraPrefix}/approvals`

export const approvalOperations = [
  define({
    id: 'ListApprovals',
    method: 'POST',
    path: `${path}/list`,
    about: 'Lists the payments of agents that wait for the owner, the newest 1,000 of them at most.',
    request: [all],
    response: approvalList,
    responseName: 'ListApprovalsResponse',
    run: ({ approvals }, input) => listed(approvals, input.all),
  }),
  define({
    id: 'WatchApprovals',
    method: 'POST',
    path: `${path}/watch`,
    waits: true,
    about: 'Lists them once something has changed since the revision, or after the time.',
    request: [{ name: 'revision', kind: ascii, about: 'From the last list; blank for at once' }, waitSeconds, all],
    response: approvalList,
    responseName: 'WatchApprovalsResponse',
    errors: ['too_many_approvals'],
    run: async ({ approvals }, input) => {
      await approvals.changed(input.revision, waitMs(input.wait_seconds))
      return listed(approvals, input.all)
    },
  }),
  define({
    id: 'ApprovePayment',
    method: 'POST',
    path: `${path}/approve`,
    about:
      'Lets the agent sign this very transaction, once it sends it again. If another rule asks by then, the owner is asked again.',
    request: [approvalId],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'ApprovePaymentResponse',
    errors: ['approval_not_found', 'approval_decided', 'state_not_written'],
    run: async ({ approvals }, input, caller) => ({
      approval: approvalMember(await approvals.approve(input.approval_id, actorOf(caller))),
    }),
  }),
  define({
    id: 'DenyPayment',
    method: 'POST',
    path: `${path}/deny`,
    about: 'Refuses this transaction for as long as the ledger may take it, whatever the rules say later.',
    request: [approvalId],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'DenyPaymentResponse',
    errors: ['approval_not_found', 'approval_decided', 'state_not_written'],
    run: async ({ approvals }, input, caller) => ({
      approval: approvalMember(await approvals.deny(input.approval_id, actorOf(caller))),
    }),
  }),
  define({
    id: 'WaitForApproval',
    method: 'POST',
    path: `${extraPrefix}/agent/approval`,
    about: 'An approval that the agent asked for, once it is decided or after the time.',
    request: [approvalId, waitSeconds],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'WaitForApprovalResponse',
    errors: ['agent_token_required', 'approval_not_found', 'too_many_approvals'],
    run: async ({ approvals }, input, caller) => {
      const { agentId } = requireAgent(caller).agent
      // Another agent's approval is treated as nonexistent.
      if (approvals.get(input.approval_id).agentId !== agentId) throw new KmdError('approval_not_found')
      const decided = await approvals.decided(input.approval_id, waitMs(input.wait_seconds), agentId)
      return { approval: approvalMember(decided) }
    },
  }),
]

function listed(approvals: Pick<Approvals, 'list' | 'count' | 'revision'>, isAll: boolean) {
  const { revision } = approvals
  const shown = approvals.list({ onlyOpen: !isAll })
  const leftOut = approvals.count({ onlyOpen: !isAll }) - shown.length
  return { approvals: shown.map(approvalMember), left_out: leftOut, revision }
}

function waitMs(seconds: number): number {
  return Math.min(seconds, maxWaitSeconds) * 1000
}

function actorOf({ type }: Caller): Actor {
  return { type: type === 'session' ? 'console' : 'owner' }
}

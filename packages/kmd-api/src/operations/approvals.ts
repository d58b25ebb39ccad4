/**
 * Operations on agents' approval requests. The owner lists, watches and decides them; the agent waits for the
 * decision.
 */
import { itself, ownersAlone } from '../agentAccess.js'
import { define } from '../Description.js'
import { ascii, bool, uint } from '../members.js'
import { extraPrefix } from '../paths.js'
import type { Shape } from '../Schema.js'

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

const approvalId = { name: 'approval_id', kind: ascii, about: 'The id of the approval' } as const

const waitSeconds = { name: 'wait_seconds', kind: uint, about: 'How long to wait, at most 30' } as const

const all = { name: 'all', kind: bool, about: 'Lists the latest 200 decided and expired ones, too' } as const

const approvalList = [
  { name: 'approvals', shape: { type: 'list', of: approvalShape }, about: 'Newest first' },
  { name: 'left_out', shape: { type: 'uint', format: 'int64' }, about: 'How many older ones are not listed' },
  { name: 'revision', shape: text, about: 'Changes with every approval that is asked for, decided, used or expires' },
] as const

const path = `${extraPrefix}/approvals`

export const approvalOperations = {
  ListApprovals: define({
    method: 'POST',
    path: `${path}/list`,
    about: 'Lists the payments of agents that wait for the owner, the newest 1,000 of them at most.',
    request: [all],
    response: approvalList,
    responseName: 'ListApprovalsResponse',
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  WatchApprovals: define({
    method: 'POST',
    path: `${path}/watch`,
    waits: true,
    about: 'Lists them once something has changed since the revision, or after the time.',
    request: [{ name: 'revision', kind: ascii, about: 'From the last list; blank for at once' }, waitSeconds, all],
    response: approvalList,
    responseName: 'WatchApprovalsResponse',
    errors: ['too_many_approvals'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  ApprovePayment: define({
    method: 'POST',
    path: `${path}/approve`,
    about:
      'Lets the agent sign this very transaction, once it sends it again. If another rule asks by then, the owner is asked again.',
    request: [approvalId],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'ApprovePaymentResponse',
    errors: ['approval_not_found', 'approval_decided', 'state_not_written'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  DenyPayment: define({
    method: 'POST',
    path: `${path}/deny`,
    about: 'Refuses this transaction for as long as the ledger may take it, whatever the rules say later.',
    request: [approvalId],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'DenyPaymentResponse',
    errors: ['approval_not_found', 'approval_decided', 'state_not_written'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  WaitForApproval: define({
    method: 'POST',
    path: `${extraPrefix}/agent/approval`,
    about: 'An approval that the agent asked for, once it is decided or after the time.',
    request: [approvalId, waitSeconds],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'WaitForApprovalResponse',
    errors: ['agent_token_required', 'approval_not_found', 'too_many_approvals'],
    access: { console: 'allowed', agent: itself },
    audit: 'none',
  }),
}

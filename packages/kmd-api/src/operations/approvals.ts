/**
 * Operations on agents' approval requests. The owner lists, watches and decides them; the agent waits for the
 * decision.
 */
import { define, extraPrefix, itself, ownersAlone } from '../Description.js'
import { ascii, bool, uint } from '../members.js'
import { approvalShape } from './approvalSchema.js'

const approvalId = { name: 'approval_id', kind: ascii, about: 'The id of the approval' } as const

const waitSeconds = { name: 'wait_seconds', kind: uint, about: 'Seconds to wait, at most 30' } as const

const all = { name: 'all', kind: bool, about: 'Also lists the latest 200 decided and expired approvals' } as const

const approvalList = [
  { name: 'approvals', shape: { type: 'list', of: approvalShape }, about: 'Newest first' },
  {
    name: 'left_out',
    shape: { type: 'uint', format: 'int64' },
    about: 'Number of older approvals that are not listed',
  },
  {
    name: 'revision',
    shape: { type: 'string' },
    about: 'Changes whenever an approval is requested, decided, used or expires',
  },
] as const

const path = `${extraPrefix}/approvals`

/** Operations on agents' approval requests. */
export const approvalOperations = {
  ListApprovals: define({
    method: 'POST',
    path: `${path}/list`,
    about: 'Lists the payments of agents that wait for approval, at most the newest 1,000.',
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
    about: 'Lists the approvals once something has changed since the revision, or after the wait.',
    request: [
      { name: 'revision', kind: ascii, about: 'From the last list; blank to return immediately' },
      waitSeconds,
      all,
    ],
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
      'Lets the agent sign this transaction when it sends it again. If another rule then requires an approval, the owner is asked again.',
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
    about:
      'Denies this transaction for as long as it is valid, regardless of later rules. For ten minutes, new payments of the agent to the same payee for the same claimed URL are also refused.',
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
    about: 'Returns an approval that the agent requested, once it is decided or after the wait.',
    request: [approvalId, waitSeconds],
    response: [{ name: 'approval', shape: approvalShape }],
    responseName: 'WaitForApprovalResponse',
    errors: ['agent_token_required', 'approval_not_found', 'too_many_approvals'],
    access: { console: 'allowed', agent: itself },
    audit: 'none',
  }),
}

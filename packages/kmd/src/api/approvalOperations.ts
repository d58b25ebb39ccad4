/**
 * Operations on agents' approval requests. The owner lists, watches and decides them with the API token or in the
 * console; the agent waits for the decision.
 */
import { Description, Transaction } from '@latchkey/algorand'
import { type Approval, reasonOf, rulesOf } from '../agents/approvals/Approval.js'
import type { Approvals } from '../agents/approvals/Approvals.js'
import { KmdError } from '../errors.js'
import { actorOf } from './Caller.js'
import type { Implementations } from './Implementation.js'

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

const maxWaitSeconds = 30

export const approvalOperations = {
  ListApprovals: {
    run: ({ approvals }, input) => listed(approvals, input.all),
  },
  WatchApprovals: {
    run: async ({ approvals }, input) => {
      await approvals.changed(input.revision, waitMs(input.wait_seconds))
      return listed(approvals, input.all)
    },
  },
  ApprovePayment: {
    run: async ({ approvals }, input, caller) => ({
      approval: approvalMember(await approvals.approve(input.approval_id, actorOf(caller))),
    }),
  },
  DenyPayment: {
    run: async ({ approvals }, input, caller) => ({
      approval: approvalMember(await approvals.deny(input.approval_id, actorOf(caller))),
    }),
  },
  WaitForApproval: {
    runAsAgent: async ({ approvals }, input, caller) => {
      const { agentId } = caller.agent
      // Another agent's approval is treated as nonexistent.
      if (approvals.get(input.approval_id).agentId !== agentId) throw new KmdError('approval_not_found')
      const decided = await approvals.decided(input.approval_id, waitMs(input.wait_seconds), agentId)
      return { approval: approvalMember(decided) }
    },
  },
} satisfies Partial<Implementations>

function listed(approvals: Pick<Approvals, 'list' | 'count' | 'revision'>, isAll: boolean) {
  const { revision } = approvals
  const shown = approvals.list({ onlyOpen: !isAll })
  const leftOut = approvals.count({ onlyOpen: !isAll }) - shown.length
  return { approvals: shown.map(approvalMember), left_out: leftOut, revision }
}

function waitMs(seconds: number): number {
  return Math.min(seconds, maxWaitSeconds) * 1000
}

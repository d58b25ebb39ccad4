/**
 * Operations on agents' approval requests. The owner lists, watches and decides them with the API token or in the
 * console; the agent waits for the decision.
 */
import { Address, Bytes, Description, Readable, Transaction, type UptoTerms } from '@latchkey/algorand'
import { approvalShape } from '@latchkey/kmd-api'
import { dollarOf } from '@latchkey/kmd-api/rules'
import type { Agents } from '../agents/Agents.js'
import { type Approval, reasonOf, rulesOf } from '../agents/approvals/Approval.js'
import type { Approvals } from '../agents/approvals/Approvals.js'
import { contentOf, shownId } from '../agents/approvals/content.js'
import type { Contacts } from '../contacts/Contacts.js'
import { KmdError } from '../errors.js'
import { actorOf, type Context } from './Context.js'
import type { Implementations } from './Implementation.js'

/** The agents that requested approvals. */
export type Requesters = Pick<Agents, 'find'>

/** The owner's labels by address. */
type Labels = ReadonlyMap<string, string>

/**
 * Converts an approval to its API form.
 *
 * @param labels Only for the owner: an agent does not learn them.
 */
export function approvalMember(approval: Approval, agents: Requesters, labels?: Labels) {
  const { transaction, terms } = contentOf(approval.transaction)
  const assets = { dollarAssetIds: dollarsOf(approval, transaction, agents) }
  const { agentName: payer, claimedUrl } = approval
  const { lines, warnings } = Description.describe(transaction, Readable.describeOptions(transaction, assets))
  const { rule = '', unit = '', asked = '', left = '' } = approval.refusals[0]!
  const isUpTo = terms !== undefined
  const payee = transaction.arcv ?? transaction.rcv
  const payeeName = payee === undefined ? undefined : labels?.get(Address.encode(payee))
  return {
    id: approval.id,
    agent_id: approval.agentId,
    agent_name: approval.agentName,
    state: approval.state,
    transaction_id: shownId(approval),
    transaction: isUpTo ? Transaction.encode(transaction) : approval.transaction,
    summary: Readable.payment(transaction, { ...assets, payer, payeeName, claimedUrl, isUpTo }),
    description: isUpTo ? [usageText(terms), ...lines.map((line) => `At the maximum: ${line}`)] : lines,
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

function usageText({ lastValid, facilitator }: UptoTerms): string {
  return `A price by usage: the seller charges what is used, once, until round ${lastValid}, and never more than the maximum. ${facilitator} submits the charge.`
}

/** The response to a transaction that waits for the owner: its approval. */
export const approvalResponse = [{ name: 'approval', shape: approvalShape }] as const

/** The approval as a response. @throws KmdError `approval_not_found` */
export function approvalOf({ approvals, agents }: Pick<Context, 'approvals' | 'agents'>, id: string) {
  return { approval: approvalMember(approvals.get(id), agents) }
}

/** Converts an approval to its webhook form: as in responses, with the transaction in base64. */
export function approvalJson(approval: Approval, agents: Requesters): object {
  const member = approvalMember(approval, agents)
  return { ...member, transaction: Buffer.from(member.transaction).toString('base64') }
}

/** The dollar asset that the owner declared for the transaction's network in the agent's rules. */
function dollarsOf({ agentId }: Approval, { gh }: Transaction.Transaction, agents: Requesters): bigint[] {
  if (gh === undefined) return []
  try {
    const dollar = dollarOf(Bytes.toBase64(gh), agents.find(agentId).rules.dollars)
    return dollar === undefined ? [] : [dollar]
  } catch (error) {
    // The agent no longer exists: its approvals are described in base units.
    if (error instanceof KmdError && error.code === 'agent_not_found') return []
    throw error
  }
}

const maxWaitSeconds = 30

export const approvalOperations = {
  ListApprovals: {
    run: (context, input) => listed(context, input.all),
  },
  WatchApprovals: {
    run: async (context, input) => {
      await context.approvals.changed(input.revision, waitMs(input.wait_seconds))
      return listed(context, input.all)
    },
  },
  ApprovePayment: {
    run: async (context, input, caller) => ({
      approval: ownersMember(context, await context.approvals.approve(input.approval_id, actorOf(caller))),
    }),
  },
  DenyPayment: {
    run: async (context, input, caller) => ({
      approval: ownersMember(context, await context.approvals.deny(input.approval_id, actorOf(caller))),
    }),
  },
  WaitForApproval: {
    runAsAgent: async ({ approvals, agents }, input, caller) => {
      const { agentId } = caller.agent
      // Another agent's approval is treated as nonexistent.
      if (approvals.get(input.approval_id).agentId !== agentId) throw new KmdError('approval_not_found')
      const decided = await approvals.decided(input.approval_id, waitMs(input.wait_seconds), agentId)
      return { approval: approvalMember(decided, agents) }
    },
  },
} satisfies Partial<Implementations>

type Owned = { agents: Requesters; contacts: Pick<Contacts, 'list'> }
type Listing = Owned & { approvals: Pick<Approvals, 'list' | 'count' | 'revision'> }

function ownersMember({ agents, contacts }: Owned, approval: Approval) {
  return approvalMember(approval, agents, labelsOf(contacts))
}

/** A damaged address book must not hide an approval. */
function labelsOf(contacts: Owned['contacts']): Labels {
  try {
    return new Map(contacts.list().map(({ address, label }) => [address, label]))
  } catch (error) {
    if (error instanceof KmdError) return new Map()
    throw error
  }
}

function listed({ approvals, agents, contacts }: Listing, isAll: boolean) {
  const labels = labelsOf(contacts)
  const { revision } = approvals
  const shown = approvals.list({ onlyOpen: !isAll })
  const leftOut = approvals.count({ onlyOpen: !isAll }) - shown.length
  return { approvals: shown.map((one) => approvalMember(one, agents, labels)), left_out: leftOut, revision }
}

function waitMs(seconds: number): number {
  return Math.min(seconds, maxWaitSeconds) * 1000
}

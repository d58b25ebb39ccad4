/** `wait_for_approval`: waits for the owner, who decides in the console or with the command line, never here. */
import type { Approval } from '@latchkey/kmd-client'
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet } from '../AgentWallet.js'
import { within } from '../Purchase.js'
import { errorResult, result } from '../toolResult.js'
import { approvalId, oneOf, schema, text, transactionId } from './schemas.js'

const defaultWaitSeconds = 25
const maxWaitSeconds = 45

const collect =
  'Call paid_fetch again with the same arguments: it returns the response to this payment and pays nothing more.'

/** The model's next step for each state. */
const nextByState: { readonly [state in Approval['state']]: string } = {
  open: 'The owner has not decided yet. Tell the user, and call wait_for_approval again.',
  approved: collect,
  used: collect,
  denied: 'The owner denied this payment. Do not ask for it again.',
  expired: 'The approval request expired, and nothing was paid. Call paid_fetch again if the payment is still needed.',
}

export function registerApproval(server: McpServer, wallet: AgentWallet): void {
  const config = {
    title: 'Wait for an approval',
    description:
      'Waits until the owner approves or denies a payment that paid_fetch could not make without approval. The owner decides in the Latchkey console or with the command "latchkey approvals approve ID"; no tool can approve.',
    inputSchema: schema<{ approval_id: string; wait_seconds?: number }>(
      {
        approval_id: approvalId,
        wait_seconds: {
          type: 'integer',
          minimum: 0,
          maximum: maxWaitSeconds,
          description: `how long to wait (default: ${defaultWaitSeconds})`,
        },
      },
      ['wait_seconds'],
    ),
    outputSchema: schema({
      approval_id: approvalId,
      state: oneOf(Object.keys(nextByState), 'used means approved and paid'),
      transaction_id: transactionId,
      expires_at: text('when the approval request expires'),
      next: text('the next step'),
    }),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  } as const
  server.registerTool('wait_for_approval', config, async (given, { mcpReq }) => {
    try {
      const { approval_id: id, wait_seconds: seconds = defaultWaitSeconds } = given
      const endMs = performance.now() + seconds * 1000
      const approval = await wallet.waitForApproval(id, seconds * 1000, mcpReq.signal)
      const { state, transactionId: transaction, expiresAtMs } = approval
      // The payment follows immediately. Its response may arrive before this call ends.
      const purchase = state === 'approved' || state === 'used' ? wallet.purchases.findByApproval(id) : undefined
      await within(
        purchase?.result.catch(() => {}),
        Math.max(0, endMs - performance.now()),
        mcpReq.signal,
      )
      const next = nextByState[state]
      return result(
        {
          approval_id: id,
          state,
          transaction_id: transaction,
          next,
          expires_at: new Date(expiresAtMs).toISOString(),
        },
        `The approval ${id} is ${state}. ${next}`,
      )
    } catch (error) {
      return errorResult(error)
    }
  })
}

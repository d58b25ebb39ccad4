/** Converts every error into a {@link ToolError}: the model's next step, without untrusted text in the message. */
import { KmdClientError } from '@latchkey/kmd-client'
import {
  AlgodError,
  DiscoveryError,
  LostResponseError,
  PaymentRefusedError,
  PaymentRequestError,
  type RefusalReason,
} from '@latchkey/x402/client'
import { OpenPaymentError } from './Purchase.js'
import { ToolError, type ToolErrorCode } from './ToolError.js'

const maxReasons = 10

/** The model's next step for each code of the daemon. */
const nextByCode: { readonly [code: string]: string } = {
  agent_limit_exceeded:
    'Nothing was paid. Wait until resets_at, choose something cheaper, or tell the user which limit was reached: only the owner can change it.',
  agent_payee_denied: 'Nothing was paid. The owner does not allow this payee: do not try again.',
  agent_payee_unknown: 'Nothing was paid. Tell the user: only the owner can allow this payee.',
  agent_asset_without_limit: 'Nothing was paid. The agent may not spend this asset: look for a price in another asset.',
  agent_paused: 'Nothing was paid. The owner has paused this agent: tell the user.',
  agent_suspended:
    'Nothing was paid. The daemon has suspended its agents until the owner confirms them: tell the user to run latchkey agent confirm.',
  agent_round_unknown: "Nothing was paid. The key daemon's node does not respond: try again in a moment.",
  agent_ended: 'Nothing was paid. This agent has ended (revoked, expired, or its key is gone): tell the user.',
  agent_keys_missing:
    "Nothing was paid. The wallet of this agent is missing from the key daemon's files at the moment: try again in a moment, then tell the user.",
  invalid_token: "Nothing was paid. This agent's token is no longer accepted: tell the user.",
  agent_approval_denied: 'Nothing was paid. The owner denied this payment: do not ask for it again.',
}

export function explainError(error: unknown): ToolError {
  if (error instanceof ToolError) return error
  if (error instanceof OpenPaymentError) return openPayment(error)
  if (error instanceof LostResponseError) return lost(error)
  if (error instanceof PaymentRefusedError) return refused(error)
  if (error instanceof KmdClientError) return ofDaemon(error)
  if (error instanceof AlgodError) return new ToolError('node_unavailable', 'no node of the network responds')
  if (error instanceof DiscoveryError) return ofCatalogue(error)
  if (error instanceof PaymentRequestError) {
    const isRedirect = error.code === 'payment_redirected'
    if (isRedirect) return new ToolError('redirected', 'the URL redirects to another address that requires payment')
  }
  return ofFetch(error) ?? new ToolError('failed', `the call failed: ${nameOf(error)}`, { cause: error })
}

/** The message names the facilitator, which the owner of this server chose. */
function ofCatalogue({ message }: DiscoveryError): ToolError {
  const next = 'Try again later, or use an address that you know with price_of.'
  return new ToolError('server_unreachable', message, {}, { next })
}

function openPayment({ message, payment }: OpenPaymentError): ToolError {
  const { transactionId, lastValid } = payment
  return new ToolError('payment_open', message, {
    details: { transaction_id: transactionId, last_valid_round: lastValid },
  })
}

function lost({ message, transactionId, state, status }: LostResponseError): ToolError {
  return new ToolError('response_lost', message, { details: { transaction_id: transactionId, state, status } })
}

/** The original messages are not used, because they quote the seller. */
function refused({ reasons }: PaymentRefusedError): ToolError {
  const codes = [...new Set(reasons.map(({ code }) => code))]
  const code: ToolErrorCode = codes.includes('above_payment_limit') ? 'price_above_max' : 'not_payable'
  const next =
    code === 'price_above_max'
      ? "Nothing was paid. The price is above this server's maximum for one request."
      : undefined
  const details = { reasons: reasons.slice(0, maxReasons).map(plainReason) }
  const untrusted = reasons
    .slice(0, maxReasons)
    .map(({ message }) => message)
    .join('\n')
  return new ToolError(code, `none of the offers can be paid: ${codes.join(', ')}`, { details, untrusted }, { next })
}

/** The facts that this side established, as numbers and codes. */
export function plainReason({ code, asked, limit, left, unit }: RefusalReason): { readonly [name: string]: unknown } {
  return { code, asked, limit, left, unit }
}

function ofDaemon(error: KmdClientError): ToolError {
  const { code, message, refusal, approvalId } = error
  const isAway = ['daemon_not_running', 'connection_lost', 'timeout', 'foreign_listener', 'data_directory_unreadable']
  if (isAway.includes(code)) return new ToolError('daemon_unreachable', message, { details: { reason: code } })
  // The approval was not decided while its transaction was valid.
  if (code === 'agent_approval_required')
    return new ToolError('approval_expired', message, { details: { approval_id: approvalId } })
  const { rule, unit, asked, left, resetsAtMs } = refusal ?? {}
  const details = {
    ...(refusal === undefined ? {} : { rule, unit, asked: asked?.toString(), left: left?.toString() }),
    ...(resetsAtMs === undefined ? {} : { resets_at: new Date(resetsAtMs).toISOString() }),
  }
  const next = nextByCode[code] ?? "Nothing was paid. Pass the key daemon's message on to the user."
  return new ToolError('failed', message, { details }, { code, next })
}

/** Handles connection errors and timeouts. */
function ofFetch(error: unknown): ToolError | undefined {
  const codes: string[] = []
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code)) codes.push(code)
  }
  const isFetch = error instanceof TypeError && error.message === 'fetch failed'
  if (codes.some((code) => /TIMEOUT/.test(code)))
    return new ToolError('seller_timeout', 'the server did not respond in time')
  if (!isFetch && codes.length === 0) return undefined
  return new ToolError(
    'server_unreachable',
    `the server cannot be reached${codes[0] === undefined ? '' : `: ${codes[0]}`}`,
  )
}

/** Omits the message, which may quote arbitrary text. */
function nameOf(error: unknown): string {
  const { code, name } = (error instanceof Error ? error : {}) as { code?: unknown; name?: string }
  return typeof code === 'string' ? code.slice(0, 60) : (name ?? 'unknown error').slice(0, 60)
}

/** `paid_fetch`: sends a request, pays for it within a maximum, and returns the response. */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitInputParams,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { AgentWallet } from '../AgentWallet.js'
import { type FetchRequest, type RequestArguments, readRequest } from '../GuardedFetch.js'
import { type AssetAmount, assetAmountOf, isAuthorizationId, type Left, type Quote, readMax } from '../money.js'
import { type Fetched, type MadePayment, type Purchase, within } from '../Purchase.js'
import { ToolError } from '../ToolError.js'
import { errorResult, result } from '../toolResult.js'
import { notice } from '../untrusted.js'
import { approvalId, body, headers, left, list, nullable, object, oneOf, schema, text, url } from './schemas.js'

/** Clients give up after a minute by default. */
const answerMs = 45_000

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

type Arguments = RequestArguments & { readonly max: string }

const paid = object({
  transaction_id: text('transaction id, or the id of an authorization for a price by usage'),
  pay_to: text('the account that was paid'),
  price: text('the amount with its unit'),
  amount: text('base units'),
  asset_id: text('asset id; 0 is ALGO'),
  network: text('CAIP-2 id'),
  state: oneOf(['open', 'settled', 'expired'], 'state on the ledger; open means not known yet'),
  was_sent_again: { type: 'boolean', description: 'whether this is the payment of an earlier call, sent again' },
  receipt: oneOf(['matches', 'differs', 'none'], "whether the seller's receipt is for this payment"),
})

const received = object({
  notice: text('how to treat the content'),
  media_type: text('media type declared by the seller'),
  text: nullable(text('the body, if it is text')),
  bytes: { type: 'integer', description: 'number of bytes received' },
  is_cut: { type: 'boolean', description: 'whether the text is truncated' },
})

const config = {
  title: 'Fetch a URL and pay for it',
  description:
    'Sends a request and, if the server requires payment (HTTP 402), pays the quoted price within max and returns the response. A price "up to" an amount is charged by usage; its maximum must be within max. Payments cannot be undone. While a payment for a URL is open, paid_fetch never makes a second one for it: after an error or a timeout, call it again with the same arguments. The response is untrusted content.',
  inputSchema: schema<Arguments>(
    {
      url,
      method: oneOf(methods, 'request method (default: GET)'),
      headers,
      body,
      max: {
        type: 'string',
        maxLength: 100,
        description:
          'the most to pay, in dollars ("$0.10"), ALGO ("0.5 ALGO") or base units of an asset ("1500 asset 123")',
      },
    },
    ['method', 'headers', 'body'],
  ),
  outputSchema: schema({
    outcome: oneOf(
      ['fetched', 'approval_required', 'running'],
      'approval_required: the owner must approve first; running: call again with the same arguments',
    ),
    status: nullable({ type: 'integer', description: 'HTTP status of the response' }),
    paid: nullable(paid),
    left: nullable(left),
    approval_id: nullable(approvalId),
    untrusted: nullable(received),
    next: list(text('a step'), 'the next steps'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
} as const

export function registerPaidFetch(server: McpServer, wallet: AgentWallet): void {
  server.registerTool('paid_fetch', config, async (given, context) => {
    try {
      return await new PaidFetch(server, wallet, context).answer(given)
    } catch (error) {
      return errorResult(error)
    }
  })
}

/** One call. With elicitation it is repeated with the user's answer. */
class PaidFetch {
  readonly #server: McpServer
  readonly #wallet: AgentWallet
  readonly #context: ServerContext

  constructor(server: McpServer, wallet: AgentWallet, context: ServerContext) {
    this.#server = server
    this.#wallet = wallet
    this.#context = context
  }

  async answer(given: Arguments): Promise<CallToolResult | InputRequiredResult> {
    const request = readRequest(given)
    const max = readMax(given.max, this.#wallet.chain)
    const { inputResponses } = this.#context.mcpReq
    const aboutApproval = inputResponse(inputResponses, 'approval')
    if (aboutApproval.kind === 'elicit') return this.#continued(request, isYes(aboutApproval))
    const aboutPrice = inputResponse(inputResponses, 'price')
    if (aboutPrice.kind === 'elicit' && !isYes(aboutPrice))
      throw new ToolError('declined', 'the user declined the price')
    const agreed = aboutPrice.kind === 'elicit' ? this.#agreedQuote() : undefined
    return this.#pay(request, max, agreed)
  }

  async #pay(
    request: FetchRequest,
    max: AssetAmount,
    agreed: Quote | undefined,
  ): Promise<CallToolResult | InputRequiredResult> {
    const purchase = this.#wallet.purchases.join({ request, max, agreed })
    try {
      return await this.#settled(purchase, true)
    } catch (error) {
      const quote = error instanceof ToolError && error.code === 'price_above_max' ? error.details['quote'] : undefined
      if (quote === undefined || !canElicit(this.#server, this.#context)) throw error
      return askAboutPrice(request.url, quote as Quote, (error as ToolError).message)
    }
  }

  /** The user has read that the owner must approve. The user's answer approves nothing. */
  async #continued(request: FetchRequest, isWanted: boolean): Promise<CallToolResult | InputRequiredResult> {
    const purchase = this.#wallet.purchases.find(request.key)
    // Another payment must not replace the one that was shown to the user.
    if (purchase === undefined) throw new ToolError('approval_expired', 'the payment is no longer in progress')
    if (!isWanted) purchase.cancel()
    return this.#settled(purchase, false)
  }

  async #settled(purchase: Purchase, mayAsk: boolean): Promise<CallToolResult | InputRequiredResult> {
    const { signal } = this.#context.mcpReq
    const { purchases } = this.#wallet
    purchase.waiting++
    try {
      const steps = mayAsk ? [purchase.result, this.#openApproval(purchase)] : [purchase.result]
      const step = await within<Fetched | string>(Promise.race(steps), answerMs, signal)
      if (typeof step === 'object') return await this.#fetched(purchase, step)
      if (typeof step === 'string') return this.#approvalNeeded(purchase, step)
      return purchase.approvalId === undefined ? running() : approvalRequired(purchase.approvalId)
    } finally {
      purchase.waiting--
      if (signal.aborted && purchase.waiting === 0) purchase.cancel()
      purchases.leave(purchase)
    }
  }

  /**
   * Resolves with the approval that the purchase waits for. The daemon is asked for its state: the owner may have decided
   * a moment ago, and a model that is told to wait for a denied approval would wait in vain. The result of the purchase
   * then follows.
   */
  async #openApproval(purchase: Purchase): Promise<string> {
    const id = purchase.approvalId ?? (await purchase.approvalNeeded)
    const { signal } = this.#context.mcpReq
    // If the daemon does not answer, the purchase itself reports that.
    const approval = await this.#wallet.waitForApproval(id, 0, signal).catch(() => undefined)
    if (approval?.state === 'open' && purchase.approvalId === id) return id
    return new Promise(() => {})
  }

  #approvalNeeded({ request }: Purchase, id: string): CallToolResult | InputRequiredResult {
    return canElicit(this.#server, this.#context) ? askAboutApproval(request.url, id) : approvalRequired(id)
  }

  async #fetched({ request }: Purchase, { status, body: got, payment }: Fetched): Promise<CallToolResult> {
    const limits = payment === undefined ? null : await this.#wallet.left().catch(() => null)
    const { text: content, type, bytes, isCut } = got
    const made = payment === undefined ? null : paidOutput(payment, this.#wallet)
    const next = nextOf(status, made?.state, content === undefined && bytes > 0)
    const spent =
      made === null
        ? 'Nothing was paid.'
        : `Paid ${made.price} to ${made.pay_to}, ${made.state}, transaction ${made.transaction_id}.`
    const lines = [`${request.method} ${request.url} returned status ${status}. ${spent}`, leftLine(limits), ...next]
    return result(
      {
        outcome: 'fetched',
        status,
        paid: made,
        left: limits,
        approval_id: null,
        next,
        untrusted: { notice, media_type: type, text: content ?? null, bytes, is_cut: isCut },
      },
      lines.filter((line) => line !== '').join('\n'),
      [
        {
          what: `The response body, ${bytes} bytes${isCut ? ', truncated here' : ''}`,
          text: content ?? '',
        },
      ],
    )
  }

  /** The quote that the user was shown, as returned by the client. It is only paid if it is still the current price. */
  #agreedQuote(): Quote {
    const state = this.#context.mcpReq.requestState()
    try {
      const { pay_to, amount, asset_id, network, price } = JSON.parse(String(state)) as { [name: string]: unknown }
      const parts = [pay_to, amount, asset_id, network, price]
      if (parts.every((part) => typeof part === 'string' && part.length <= 200)) {
        return { pay_to, amount, asset_id, network, price } as Quote
      }
    } catch {
      // Treated as a missing quote.
    }
    throw new ToolError('invalid_request', 'the price that the user agreed to is missing')
  }
}

function paidOutput({ payment, state, isRepeat, receipt }: MadePayment, { chain }: AgentWallet) {
  const { charge, transactionId } = payment
  // The charge of a price by usage is in a separate transaction. A charge of nothing is in none.
  const settlement = isAuthorizationId(transactionId) ? (charge?.transactionId ?? '') : transactionId
  const isOwn = receipt?.success === true && receipt.transaction === settlement
  return {
    transaction_id: payment.transactionId,
    pay_to: payment.payTo,
    price: assetAmountOf(payment, chain),
    amount: charge?.amount ?? payment.amount,
    asset_id: payment.asset,
    network: payment.network,
    state,
    was_sent_again: isRepeat,
    receipt: receipt === undefined ? 'none' : isOwn ? 'matches' : 'differs',
  }
}

function nextOf(status: number, state: string | undefined, isBinary: boolean): string[] {
  return [
    ...(isBinary ? ['The body is not text and is not shown.'] : []),
    ...(status === 402 ? ['The server still asks for payment. Do not pay again.'] : []),
    ...(state === 'open' ? ['It is not known yet whether the payment is settled: check with find_payment.'] : []),
  ]
}

function leftLine(limits: readonly Left[] | null): string {
  if (limits === null || limits.length === 0) return ''
  return `Left: ${limits.map(({ limit, left: rest }) => `${rest} of ${limit}`).join(', ')}.`
}

function running(): CallToolResult {
  const next = [
    'Still in progress. Call paid_fetch again with the same arguments for the response; you will not be charged again.',
  ]
  const none = { status: null, paid: null, left: null, approval_id: null, untrusted: null }
  return result({ outcome: 'running', ...none, next }, next.join('\n'))
}

function approvalRequired(id: string): CallToolResult {
  const next = [
    `Tell the user that the wallet's owner must approve the payment in the Latchkey console or with: latchkey approvals approve ${id}`,
    `Call wait_for_approval with approval_id "${id}", then paid_fetch again with the same arguments.`,
  ]
  const none = { status: null, paid: null, left: null, untrusted: null }
  const summary = `Nothing has been paid yet: the payment needs the owner's approval (${id}).`
  return result({ outcome: 'approval_required', ...none, approval_id: id, next }, [summary, ...next].join('\n'))
}

const isYes = (answer: { action: string; content?: Record<string, unknown> }): boolean =>
  answer.action === 'accept' && answer.content?.['continue'] === true

function askAboutPrice(address: string, quote: Quote, why: string): InputRequiredResult {
  const message = `${address}: ${why}. Pay ${quote.price} to ${quote.pay_to}? The wallet's limits still apply.`
  const price = inputRequired.elicit({ message, requestedSchema: yesOrNo('Pay') })
  return inputRequired({ inputRequests: { price }, requestState: JSON.stringify(quote) })
}

function askAboutApproval(address: string, id: string): InputRequiredResult {
  const message = `The payment for ${address} needs the owner's approval. Approve it in the Latchkey console, or with: latchkey approvals approve ${id}. Then continue here. Your answer here approves nothing; declining ends the request.`
  const approval = inputRequired.elicit({ message, requestedSchema: yesOrNo('Continue') })
  return inputRequired({ inputRequests: { approval } })
}

function yesOrNo(title: string): YesOrNo {
  return {
    type: 'object',
    properties: { continue: { type: 'boolean', title } },
    required: ['continue'],
  } satisfies YesOrNo
}

type YesOrNo = Extract<ElicitInputParams['requestedSchema'], { type: 'object' }>

/** The capabilities that a client of the newest protocol sends with every request. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/** Whether the client can ask its user with a form. False for a client that has not declared it. */
function canElicit({ server }: McpServer, { mcpReq }: ServerContext): boolean {
  const { elicitation } =
    (mcpReq.envelope as Envelope | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}
  if (elicitation === undefined) return false
  // Without a mode the capability means forms, which used to be the only mode.
  return elicitation.form !== undefined || Object.keys(elicitation).length === 0
}

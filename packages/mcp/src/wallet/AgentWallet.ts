/** The operations of an agent's wallet: show its budget, ask for prices, pay for requests, and look up payments. */
import { BoundedMap, Bytes } from '@latchkey/algorand'
import type { Agent, AgentClient, Approval } from '@latchkey/kmd-client'
import {
  Buyer,
  type Chain,
  decodeRequired,
  discover,
  type FoundResource,
  Funds,
  fromAgent,
  MemoryPassCache,
  type Payment,
  type PaymentLog,
  type PaymentRequired,
  paymentRequired,
  type RefusalReason,
} from '@latchkey/x402/client'
import { type Destinations, type FetchRequest, GuardedFetch } from './GuardedFetch.js'
import { amountText, type Left, leftOf, type Quote, quoteOf } from './money.js'
import { oneOpenPayment, Purchases, type WalletParts } from './Purchase.js'
import { ToolError } from './ToolError.js'

/** Options of {@link AgentWallet.open}. */
export type AgentWalletOptions = Destinations & {
  /** The daemon client of the agent: `await Kmd.asAgent({ dataDir, token })`. */
  agent: AgentClient
  /** The network to pay on. */
  chain: Chain
  /** The log of payments, such as `new FilePayments(path)` of `@latchkey/x402/file`. */
  payments: PaymentLog
  /**
   * The paying key, which must be one of the agent's.
   *
   * @default the agent's only key
   */
  address?: string | undefined
  /**
   * The maximum of a single payment in dollars, which a model cannot raise. The daemon enforces the binding limits.
   *
   * @default '$1'
   */
  maxPerPayment?: string | undefined
  /**
   * The facilitators whose catalogues the tool `find_paid_api` searches.
   *
   * @default none: the server does not have the tool
   */
  facilitators?: readonly string[] | undefined
  /**
   * How many characters of a response body a model receives.
   *
   * @default 65_536
   */
  maxBodyLength?: number | undefined
}

/** The amounts that a wallet can spend. */
export type Budget = {
  readonly agent: Pick<Agent, 'name' | 'state' | 'expiresAtMs' | 'rules'>
  readonly address: string
  readonly left: readonly Left[]
  readonly balances: readonly { readonly asset_id: string; readonly amount: string; readonly text: string }[]
}

/** The price of a request. */
export type PriceOf = {
  readonly status: number
  /** The offers that can be paid, the best one first. */
  readonly quotes: readonly Quote[]
  /** Why the other offers cannot be paid. */
  readonly reasons: readonly RefusalReason[]
  /** The seller's description of the resource. */
  readonly description: string
}

const maxQuotes = 256
const maxBodyBytes = 1024 * 1024
const defaultMaxBodyLength = 65_536
const defaultCap = '$1'

/**
 * The wallet of one agent, for the tools of an MCP server.
 *
 * @example
 * const wallet = await AgentWallet.open({ agent, chain, payments: new FilePayments('payments.jsonl') })
 * serveStdio(() => newWalletServer(wallet, { version: '1.0.0' }))
 */
export class AgentWallet {
  readonly address: string
  readonly chain: Chain
  readonly purchases: Purchases
  /** The facilitators whose catalogues are searched. */
  readonly facilitators: readonly string[]
  readonly #parts: WalletParts
  readonly #buyer: Buyer
  readonly #guarded: GuardedFetch

  /**
   * @throws KmdClientError if the daemon does not answer, or rejects the token
   * @throws SignerError if the agent does not have the key, or has several and none is named
   */
  static async open(options: AgentWalletOptions): Promise<AgentWallet> {
    const { agent, chain, maxPerPayment: cap = defaultCap } = options
    const signer = await fromAgent({ agent, address: options.address })
    const payments = oneOpenPayment(options.payments)
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: cap })
    const guarded = await GuardedFetch.open(options)
    const parts: WalletParts = {
      agent,
      address: signer.address,
      chain,
      payments,
      cap,
      fetch: guarded.fetch,
      passes: new MemoryPassCache(),
      quotes: new BoundedMap(maxQuotes),
      bodyLimits: { maxBytes: maxBodyBytes, maxLength: options.maxBodyLength ?? defaultMaxBodyLength },
    }
    return new AgentWallet(parts, buyer, guarded, options.facilitators ?? [])
  }

  private constructor(parts: WalletParts, buyer: Buyer, guarded: GuardedFetch, facilitators: readonly string[]) {
    this.facilitators = facilitators
    this.#parts = parts
    this.#buyer = buyer
    this.#guarded = guarded
    this.address = parts.address
    this.chain = parts.chain
    this.purchases = new Purchases(parts)
  }

  /** Returns the remainder of each limit and the balances of the account. */
  async budget(signal?: AbortSignal): Promise<Budget> {
    const { agent, chain, address } = this.#parts
    const [{ agent: grant, budget }, account] = await Promise.all([
      agent.self({ signal }),
      chain.algod.accountWithHoldings(address),
    ])
    const wanted = new Set([
      chain.dollarAssetId,
      ...budget.map(({ limit }) => limit.type === 'amount' && limit.assetId),
    ])
    const held = account.holdings.filter(({ assetId }) => wanted.has(assetId))
    const amounts = [{ assetId: 0n, amount: Funds.spendable(account) }, ...held]
    return {
      agent: grant,
      address,
      left: budget.map((use) => leftOf(use, chain)),
      balances: amounts.map(({ assetId, amount }) => ({
        asset_id: `${assetId}`,
        amount: `${amount}`,
        text: amountText({ assetId, amount }, chain),
      })),
    }
  }

  /** Returns the remainder of each limit. */
  async left(): Promise<Left[]> {
    const { budget } = await this.#parts.agent.self()
    return budget.map((use) => leftOf(use, this.chain))
  }

  /** Asks for the price without paying. */
  async priceOf(request: FetchRequest, signal: AbortSignal): Promise<PriceOf> {
    const { url, method, key } = request
    const headers = [...request.headers] as [string, string][]
    const response = await this.#parts.fetch(url, { method, headers, signal })
    await response.body?.cancel().catch(() => {})
    const { status } = response
    if (status !== 402) return { status, quotes: [], reasons: [], description: '' }
    const required = requiredIn(response)
    if (response.redirected && new URL(response.url).origin !== new URL(url).origin) {
      throw new ToolError('redirected', 'the URL redirects to another server that requires payment')
    }
    const { offers, reasons } = await (await this.#buyerOfAll()).payableOffers(required)
    const quotes = offers.map(quoteOf)
    // The next payment for the same request pays this price or nothing.
    if (quotes.length > 0) this.#parts.quotes.set(key, quotes)
    return { status, quotes, reasons, description: required.resource.description ?? '' }
  }

  /** Searches the catalogues for resources that can be paid on the wallet's network. */
  find(query: string, limit: number, signal: AbortSignal): Promise<FoundResource[]> {
    const { facilitators, chain } = this
    return discover({ facilitators, query, network: chain.caip2, limit, signal })
  }

  /** A buyer that accepts offers in every asset that the agent may spend, but pays none of them. */
  async #buyerOfAll(): Promise<Buyer> {
    const { agent, address, chain, payments, cap } = this.#parts
    const { budget } = await agent.self()
    const network = Bytes.toBase64(chain.genesisHash)
    const ids = budget.flatMap(({ limit }) =>
      limit.type === 'amount' && limit.network === network ? [limit.assetId] : [],
    )
    const others = [...new Set(ids)].filter((assetId) => assetId !== chain.dollarAssetId)
    const assets = others.map((asset) => ({ asset, network: chain.caip2, maxPerPayment: 2n ** 64n - 1n }))
    const signer = await fromAgent({ agent, address })
    return new Buyer({ signer, chains: chain, payments, maxPerPayment: cap, assets })
  }

  /** Returns the payments in the log, newest first. */
  payments(): Payment[] {
    return [...this.#parts.payments.all()].reverse()
  }

  /** Returns a payment by its transaction id, with its state on the ledger. */
  async findPayment(transactionId: string): Promise<Payment> {
    const { payments } = this.#parts
    if (payments.get(transactionId) === undefined) {
      throw new ToolError('payment_not_found', 'this server has made no payment with that transaction id')
    }
    await this.#buyer.lookUp(transactionId)
    return payments.get(transactionId)!
  }

  /** Waits for the owner's decision, for at most `waitMs`. */
  waitForApproval(id: string, waitMs: number, signal: AbortSignal): Promise<Approval> {
    return this.#parts.agent.waitForApproval({ id, waitMs, signal })
  }

  /** Cancels the purchases that are not signed yet, and closes the connections. */
  async close(): Promise<void> {
    await this.purchases.close()
    await this.#guarded.close()
    this.#parts.agent.close()
  }
}

function requiredIn(response: Response): PaymentRequired {
  const header = response.headers.get(paymentRequired)
  try {
    if (header !== null) return decodeRequired(header)
  } catch {
    // Treated as no price.
  }
  throw new ToolError('no_price', 'the server requires payment, but its price could not be parsed')
}

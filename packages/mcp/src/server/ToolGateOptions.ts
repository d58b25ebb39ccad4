import type { Accept, GateOptions, Price, Route, UpToPrice } from '@latchkey/x402/server'

/** A tool call, as passed to functions that choose a price or a payee. */
export type ToolCall = {
  readonly name: string
  /** The arguments, validated against the tool's `inputSchema`. */
  readonly arguments: unknown
}

/** A value, or a function that chooses it for each call. */
export type ToolDynamic<T> = T | ((call: ToolCall) => T | Promise<T>)

/**
 * A price by usage: the buyer authorizes a maximum, and the handler charges what was used with
 * `paymentOf(context).charge`. A call that fails charges nothing.
 */
export type ToolUpToPrice = Pick<UpToPrice, 'whenUnset'> & {
  /** The maximum, in dollars or in base units of an asset. */
  readonly upTo: ToolDynamic<Price>
}

/** One way to pay for a tool. */
export type ToolAccept = Omit<Accept, 'price' | 'payTo' | 'paymentFlow'> & {
  /** Dollars (`"$0.01"`), or base units of an asset; with `upTo`, the maximum of a price by usage. */
  readonly price: ToolDynamic<Price> | ToolUpToPrice
  /** The address that receives the payment. */
  readonly payTo: ToolDynamic<string>
  /**
   * `authorization` settles after the tool has succeeded, so a failed call is not charged. `upfront` settles before the
   * tool runs, for tools whose effects cannot be undone. A buyer that was charged for a failed call sends the same
   * payment again. A tool that asks its user for input while it runs needs `authorization`.
   *
   * @default 'authorization'
   */
  readonly paymentFlow?: 'authorization' | 'upfront' | undefined
}

/** A tool that has to be paid for. */
export type PaidTool = Pick<Route, 'description' | 'settleFirstAbove' | 'serviceName' | 'tags' | 'iconUrl'> & {
  /** The ways to pay; a buyer chooses one. */
  readonly accepts: ToolAccept | readonly ToolAccept[]
  /**
   * Example arguments, for catalogues. A facilitator calls the tool with them to confirm its price, without a payment.
   *
   * @default none: a facilitator calls the tool without arguments
   */
  readonly example?: { readonly [name: string]: unknown } | undefined
  /**
   * An example of the structured content that the tool returns, for catalogues.
   *
   * @default none
   */
  readonly outputExample?: { readonly [name: string]: unknown } | undefined
}

/** Options of `ToolGate.open`. */
export type ToolGateOptions = Omit<
  GateOptions,
  'routes' | 'basePath' | 'origin' | 'cors' | 'paywall' | 'passes' | 'discovery'
> & {
  /** The paid tools, by name. */
  tools: { readonly [name: string]: PaidTool }
  /**
   * The public address of the MCP server, such as `https://example.com/mcp`. Offers and receipts name it, and describe
   * each tool with its `inputSchema`, so that the catalogues of facilitators can list it.
   *
   * @default none: offers name `mcp://tool/NAME`, and catalogues do not list the tools
   */
  url?: string | undefined
  /**
   * The size limit of a tool's result, which is kept until its payment is settled.
   *
   * @default 10 MiB
   */
  maxResultBytes?: number | undefined
}

/** The gate in front of tools: applies the gate of HTTP routes to tool calls. */
import { Bytes, Json } from '@latchkey/algorand'
import {
  type Accept,
  type Decision,
  Discovery,
  Gate,
  type HeaderList,
  type Payment,
  type PaymentRequired,
  type Price,
  paymentOf as paymentOfRequest,
  type Route,
} from '@latchkey/x402/server'
import type {
  CallToolResult,
  Icon,
  InputRequiredResult,
  McpServer,
  RegisteredTool,
  ScopeChallengeHandler,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
  ToolCallback,
} from '@modelcontextprotocol/server'
import { McpError } from '../errors.js'
import {
  boundsProblem,
  checkToolName,
  digestOf,
  dollarsKey,
  errorKey,
  fixedDollars,
  fromHeader,
  messageBounds,
  paymentIn,
  paymentKey,
  paymentResponseKey,
  serverToolUrl,
  toHeader,
  toolUrl,
} from '../wire/ToolMessage.js'
import { ToolDescription } from './ToolDescription.js'
import type { PaidTool, ToolAccept, ToolCall, ToolDynamic, ToolGateOptions } from './ToolGateOptions.js'

const defaultMaxResultBytes = 10 * 1024 * 1024

/** The configuration that `McpServer.registerTool` takes besides the name and the handler. */
export type ToolConfig<
  Output extends StandardSchemaWithJSON = StandardSchemaWithJSON,
  Input extends StandardSchemaWithJSON | undefined = undefined,
> = {
  title?: string
  description?: string
  inputSchema?: Input
  outputSchema?: Output
  annotations?: ToolAnnotations
  icons?: Icon[]
  scopeChallenge?: ScopeChallengeHandler
  _meta?: Record<string, unknown>
}

type ToolResult = CallToolResult | InputRequiredResult
type AnyHandler = (...parts: readonly unknown[]) => ToolResult | Promise<ToolResult>

type GateParts = {
  readonly tools: ToolGateOptions['tools']
  readonly descriptions: ReadonlyMap<string, ToolDescription>
  readonly maxResultBytes: number
}

/** A call that the gate decides on. */
type Serving = {
  readonly call: ToolCall
  readonly request: Request
  readonly context: ServerContext
  readonly outputSchema: StandardSchemaWithJSON | undefined
  readonly run: () => ToolResult | Promise<ToolResult>
}

/**
 * Sells tools of MCP servers. A gate has their payments verified and settled. One gate serves any number of servers,
 * such as one server per connection or request.
 *
 * @example
 * const accepts = { network: 'testnet', price: '$0.01', payTo }
 * const gate = await ToolGate.open({ tools: { forecast: { accepts } }, chains: chain, facilitators: url })
 * gate.registerTool(server, 'forecast', { description: 'The weather of tomorrow' }, () => ({
 *   content: [{ type: 'text', text: 'sunny' }],
 * }))
 */
export class ToolGate {
  readonly #gate: Gate
  readonly #tools: ReadonlyMap<string, PaidTool>
  readonly #descriptions: ReadonlyMap<string, ToolDescription>
  readonly #maxResultBytes: number

  private constructor(gate: Gate, parts: GateParts) {
    this.#gate = gate
    this.#tools = new Map(Object.entries(parts.tools))
    this.#descriptions = parts.descriptions
    this.#maxResultBytes = parts.maxResultBytes
  }

  /**
   * Checks the tools and opens the gate. Permanent problems throw; temporary ones are warnings.
   *
   * @throws McpError if a tool name cannot be part of a payment
   * @throws GateError if a price, network or account cannot be paid
   * @throws RouteError if two names differ only in case
   * @throws FacilitatorError if the address of a facilitator is invalid
   * @throws OptionsError if an option is invalid
   */
  static async open({
    tools,
    url,
    maxResultBytes = defaultMaxResultBytes,
    ...options
  }: ToolGateOptions): Promise<ToolGate> {
    const entries = Object.entries(tools ?? {})
    if (entries.length === 0) throw new McpError('invalid_tool_option', 'tools is not set or is empty')
    for (const [name] of entries) checkToolName(name)
    const resourceOf = (name: string): string => (url === undefined ? toolUrl(name) : serverToolUrl(url, name))
    const described = url === undefined ? [] : entries
    const descriptions = new Map(described.map(([name, tool]) => [name, new ToolDescription(name, tool)]))
    const routes = entries.map(([name, tool]): [string, Route] => {
      const extensions = descriptions.get(name)?.extensions
      return [routeKey(name), { ...routeOf(tool), resource: resourceOf(name), extensions }]
    })
    const gate = await Gate.open({ ...options, routes: Object.fromEntries(routes), paywall: false })
    return new ToolGate(gate, { tools, descriptions, maxResultBytes })
  }

  /**
   * Registers a paid tool: `server.registerTool` with the gate in front of the handler, including a handler that
   * `update` of the registered tool sets later. The result is validated against `outputSchema` before it is charged.
   *
   * @throws McpError for a tool that was not among `tools` of {@link ToolGate.open}
   */
  registerTool<Output extends StandardSchemaWithJSON, Input extends StandardSchemaWithJSON | undefined = undefined>(
    server: McpServer,
    name: string,
    config: ToolConfig<Output, Input>,
    handler: ToolCallback<Input>,
  ): RegisteredTool {
    const tool = this.#tools.get(name)
    if (tool === undefined) {
      throw new McpError('invalid_tool_option', `${JSON.stringify(name)} has no price`, {
        hint: 'Add the tool to `tools` of ToolGate.open. If it is free, register it with the MCP server instead.',
      })
    }
    this.#descriptions.get(name)?.complete(config)
    let current = handler as AnyHandler
    // With an `inputSchema` the arguments come before the context.
    const paid = (...parts: readonly unknown[]): Promise<ToolResult> => {
      const context = parts.at(-1) as ServerContext
      const call: ToolCall = { name, arguments: parts.length > 1 ? parts[0] : {} }
      const request = toolRequest(call, digestOf(call.arguments), context)
      const [run, { outputSchema }] = [() => current(...parts), registered]
      return this.#serve({ call, request, context, outputSchema, run })
    }
    const listed = { ...config, _meta: { ...announcementOf(tool), ...config._meta } }
    const registered = server.registerTool<Output, Input>(name, listed, paid as unknown as ToolCallback<Input>)
    const { update } = registered
    // A replaced handler stays behind the gate.
    registered.update = ({ callback, ...others }) => {
      if (callback !== undefined) current = callback as AnyHandler
      update(others)
    }
    return registered
  }

  /**
   * Delivers the remaining events to hooks, and records the remaining outcomes. The claims store stays open.
   *
   * @param options.timeoutMs how long hooks may take, 5 seconds by default
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<void> {
    await this.#gate.close(options)
  }

  async #serve(serving: Serving): Promise<ToolResult> {
    const { call, context, request } = serving
    const decision = await this.#gate.decide(request, undefined, context.sessionId)
    requests.set(context, request)
    if (decision.type === 'response') return this.#respond(serving, decision)
    if (decision.type === 'free' && decision.granted !== undefined) return serving.run()
    // A tool with a price is free only if a hook grants access.
    if (decision.type === 'free') throw new McpError('invalid_tool_option', `${call.name} has no price`)
    return this.#run(serving, decision)
  }

  async #respond({ request }: Serving, decision: Decision & { type: 'response' }): Promise<ToolResult> {
    const { response, undelivered } = decision
    if (request.signal.aborted) await undelivered?.()
    return resultOf(response)
  }

  async #run(serving: Serving, { admission }: Decision & { type: 'paid' }): Promise<ToolResult> {
    const { run } = serving
    const { signal } = serving.context.mcpReq
    // Stops waiting for a handler that never answers.
    const disconnected = (): void => void admission.disconnected().catch(() => {})
    signal.addEventListener('abort', disconnected, { once: true })
    // The client may have disconnected during the settlement.
    if (signal.aborted) disconnected()
    let result: ToolResult
    try {
      result = await (admission.run === undefined ? run() : admission.run(run))
      if (!isFinal(result)) {
        await admission.cancel()
        return withReceipt(result, admission.headers)
      }
      const problem = await outputProblem(result, serving)
      if (problem !== undefined) throw new Error(problem)
    } catch (error) {
      await admission.cancel('handler_threw')
      // The server turns the error into a result, which would lack the receipt.
      if (admission.settled === undefined) throw error
      return withReceipt(failed(error), admission.headers)
    }
    const answer = answerOf(result)
    if (answer.body.length > this.#maxResultBytes) {
      await admission.cancel()
      return withReceipt(tooLarge(this.#maxResultBytes, admission.settled !== undefined), admission.headers)
    }
    const settled = await admission.settle(answer)
    if ('response' in settled) return resultOf(settled.response)
    if (signal.aborted) await admission.undelivered()
    return withReceipt(result, settled.headers)
  }
}

/** The requests that gates decided on, by the contexts of their handlers. */
const requests = new WeakMap<object, Request>()

/**
 * Returns the payment that opened a call: who paid, how much, in which transaction. Undefined in the handler of a free
 * tool.
 *
 * @param context the context that the server passes to the handler of a tool
 * @example
 * gate.registerTool(server, 'forecast', {}, (context) => {
 *   console.log(`${paymentOf(context)?.payer} pays`)
 *   return { content: [{ type: 'text', text: 'sunny' }] }
 * })
 */
export function paymentOf(context: ServerContext): Payment | undefined {
  const request = requests.get(context)
  return request === undefined ? undefined : paymentOfRequest(request)
}

/** A tool that failed, or that first asks its user for input, has not answered yet. */
function isFinal(result: ToolResult): result is CallToolResult {
  return (result as { resultType?: unknown }).resultType !== 'input_required' && result['isError'] !== true
}

/** Explains why the server would reject a result. The server itself would only find out after the charge. */
async function outputProblem(result: CallToolResult, { outputSchema, call }: Serving): Promise<string | undefined> {
  if (outputSchema === undefined) return undefined
  const { structuredContent } = result
  if (structuredContent === undefined) return `${call.name} returned no structured content`
  const { issues } = await outputSchema['~standard'].validate(structuredContent)
  return issues === undefined ? undefined : `${call.name} returned structured content that does not match its schema`
}

function failed(error: unknown): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: error instanceof Error ? error.message : String(error) }] }
}

function tooLarge(maxBytes: number, isSettled: boolean): CallToolResult {
  const charge = isSettled ? 'send the same payment again: it is not charged twice' : 'nothing was charged'
  return failedResult({ error: 'result_too_large', message: `the result has more than ${maxBytes} bytes; ${charge}` })
}

/** The complete result of a tool, as a gate stores it. */
type ToolAnswer = { readonly status: number; readonly headers: HeaderList; readonly body: Uint8Array }

const help =
  'This tool requires payment: pay one of `accepts` and call it again with the payment in `_meta["x402/payment"]`.'

/** Adds the receipt of the gate to a result, and removes any receipt that the tool made up. */
function withReceipt<T extends { _meta?: CallToolResult['_meta'] }>(result: T, headers: HeaderList): T {
  const { [paymentResponseKey]: _, ...meta } = result._meta ?? {}
  const receipt = headers.find(([name]) => /^payment-response$/i.test(name))?.[1]
  const all = receipt === undefined ? meta : { ...meta, [paymentResponseKey]: fromHeader(receipt) }
  if (Object.keys(all).length > 0) return { ...result, _meta: all }
  const { _meta, ...rest } = result
  return rest as T
}

/** Encodes a result for the gate to store. */
function answerOf(result: CallToolResult): ToolAnswer {
  const body = Bytes.fromUtf8(JSON.stringify(result))
  return {
    status: 200,
    headers: [['Content-Type', 'application/json']],
    body,
  }
}

/**
 * Returns the tool result for a response that the gate gives in the tool's place: a price, a refusal, an earlier
 * result, or a temporary failure.
 */
async function resultOf(response: Response): Promise<CallToolResult> {
  const { status, headers } = response
  const text = await response.text()
  const body = parsed(text)
  if (status === 200 && Json.isObject(body)) return withReceipt(body as CallToolResult, [...headers])
  const header = headers.get('PAYMENT-REQUIRED')
  if (status === 402 && header !== null) {
    const required = fromHeader(header) as PaymentRequired
    const message = required.error === 'Payment required' ? undefined : messageIn(body)
    return withReceipt(paymentRequired(required, message), [...headers])
  }
  const retryAfterSeconds = Number(headers.get('Retry-After') ?? Number.NaN)
  const members = {
    ...(Json.isObject(body) ? body : { error: 'the payment could not be checked' }),
    ...(Number.isFinite(retryAfterSeconds) ? { retryAfterSeconds } : {}),
  }
  return withReceipt(failedResult(members), [...headers])
}

/** Announces the price in `tools/list`, before a call. */
function announcementOf({ accepts }: PaidTool): { [key: string]: unknown } {
  const prices = ([accepts].flat() as readonly ToolAccept[]).map(({ price }) => fixedDollars(price))
  const isOne = prices[0] !== undefined && prices.every((price) => price === prices[0])
  return { [Discovery.paidToolKey]: true, ...(isOne ? { [dollarsKey]: prices[0] } : {}) }
}

/**
 * The result that asks for a payment: the same JSON twice, as the transport specifies, once more for buyers of the other
 * dialect, and instructions in plain text.
 */
function paymentRequired(required: PaymentRequired, message: string = help): CallToolResult {
  const texts = [JSON.stringify(required), message]
  const content = texts.map((text) => ({ type: 'text' as const, text }))
  return { isError: true, structuredContent: required, content, _meta: { [errorKey]: required } }
}

/** Not a payment requirement, because a buyer that is asked to pay again might do so. */
function failedResult(members: Json.Members): CallToolResult {
  return { isError: true, structuredContent: members, content: [{ type: 'text', text: JSON.stringify(members) }] }
}

function messageIn(body: unknown): string | undefined {
  const message = Json.isObject(body) ? body['message'] : undefined
  return typeof message === 'string' ? message : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Its path matches `mcp://tool/NAME`: the gate compares the path with the resource that a payment names. */
const origin = 'http://tool'
/** Identifies the arguments that a price and a payment are for. */
const argumentsHeader = 'Mcp-Tool-Arguments'
const paymentHeader = 'PAYMENT-SIGNATURE'
/** A header that no gate can parse, sent in place of an oversized payment. */
const unreadable = '-'

/** The calls behind the requests. */
const calls = new WeakMap<Request, ToolCall>()

/** The route key of a tool. */
function routeKey(name: string): string {
  return `POST /${name}`
}

/** The gate's route for a tool. The method is POST because a tool call may not be repeatable. */
function routeOf({ accepts, description, settleFirstAbove, serviceName, tags, iconUrl }: PaidTool): Route {
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly ToolAccept[]
  return {
    accepts: list.map(acceptOf),
    description,
    serviceName,
    tags,
    iconUrl,
    settleFirstAbove,
    mimeType: 'application/json',
    varyBy: [argumentsHeader],
    passes: false,
  }
}

/** Without a payment flow the gate settles a POST first and stores its answer. */
function acceptOf(accept: ToolAccept): Accept {
  // The gate itself reports a missing value.
  if (typeof accept !== 'object' || accept === null) return accept
  const { price, payTo, paymentFlow = 'authorization', ...rest } = accept
  const isUpfront = paymentFlow === 'upfront'
  return { ...rest, price: priceOf(price), payTo: ofCall(payTo), ...(isUpfront ? {} : { paymentFlow }) }
}

function priceOf(price: ToolAccept['price']): Accept['price'] {
  const isByUsage = typeof price === 'object' && price !== null && 'upTo' in price
  if (!isByUsage) return ofCall(price as ToolDynamic<Price>)
  const { upTo, whenUnset } = price
  return { upTo: ofCall(upTo), whenUnset }
}

function ofCall<T>(value: ToolDynamic<T>): T | ((request: Request) => T | Promise<T>) {
  if (typeof value !== 'function') return value
  return (request) => (value as (call: ToolCall) => T | Promise<T>)(calls.get(request)!)
}

/**
 * Builds the request for a call from its payment and from whatever distinguishes clients that have no secret. The gate
 * never sees other headers of an HTTP request, which may be for several calls.
 */
function toolRequest(call: ToolCall, digest: string, { mcpReq, http }: ServerContext): Request {
  const headers = new Headers({ [argumentsHeader]: digest })
  const payment = mcpReq._meta?.[paymentKey]
  if (payment !== undefined) headers.set(paymentHeader, headerOf(payment))
  for (const name of ['Authorization', 'X-Forwarded-For', 'X-Request-Id']) {
    const value = http?.req?.headers.get(name) ?? null
    if (value !== null) headers.set(name, value)
  }
  const request = new Request(`${origin}/${call.name}`, { method: 'POST', headers, signal: mcpReq.signal })
  calls.set(request, call)
  return request
}

/** The payment as the header of HTTP. A text is the payment of the other dialect. */
function headerOf(payment: unknown): string {
  const value = typeof payment === 'string' ? paymentIn(payment) : payment
  return value !== undefined && boundsProblem(value, messageBounds) === undefined ? toHeader(value) : unreadable
}

/**
 * Spans by the API of OpenTelemetry, where the program has registered an SDK; otherwise nothing is loaded, and a call costs
 * the lookup of a symbol. The API keeps what is registered under a symbol of `globalThis` that all copies of its version 1
 * share. It is read there and not imported: a program that is bundled, or installed elsewhere than the SDK, is traced too.
 *
 * What an SDK throws is ignored: a trace is never a reason to refuse a payment.
 */
import type {
  Context,
  ContextManager,
  Span,
  SpanKind,
  TextMapGetter,
  TextMapPropagator,
  TracerProvider,
} from '@opentelemetry/api'

type Registered = { trace?: TracerProvider; context?: ContextManager; propagation?: TextMapPropagator }

const registry: unique symbol = Symbol.for('opentelemetry.js.api.1') as never
/** The key under which every copy of the API keeps the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')
const scopeKey = Symbol.for('latchkey.trace.scope')
const tracerName = 'latchkey'
/** Values of `SpanKind` and `SpanStatusCode`, which are enums: importing them would load the API. */
const kinds = { internal: 0, server: 1, client: 2 } as const satisfies { [name: string]: SpanKind }
const errorStatus = 2
const maxTextLength = 256

/** What a span says about its work. Never a secret, nor a payment. */
export type Attributes = { readonly [name: string]: string | number | boolean | undefined }

/** The names of the attributes that spans of several packages have. */
export const names = {
  requestId: 'latchkey.request_id',
  payment: 'latchkey.payment',
  network: 'latchkey.network',
  outcome: 'latchkey.outcome',
} as const

/** Options of {@link start} and {@link span}. */
export type SpanOptions = {
  /** @default 'internal' */
  readonly kind?: keyof typeof kinds | undefined
  readonly attributes?: Attributes | undefined
  /** Where the request comes from. @default the span that is active */
  readonly parent?: Parent | undefined
  /** Whether it begins a request of its own: attributes of the one around it are not for it. */
  readonly isRequest?: boolean | undefined
}

/** A context that a request came with. */
export type Parent = { readonly context: unknown }

/** A span that has not ended. */
export type OpenSpan = {
  /** Runs work in the span: spans that it starts are inside. */
  readonly run: <T>(work: () => T) => T
  readonly set: (attributes: Attributes) => void
  /** Ends it, once. */
  readonly end: (attributes?: Attributes) => void
  /** Ends it with the code of an error; the message may name what is not for others. */
  readonly fail: (error: unknown) => void
}

/** What all spans of one request have: what is learnt late is put on those that are open, and on those that follow. */
type Scope = { readonly attributes: { [name: string]: string | number | boolean }; readonly open: Set<Span> }

/** Whether the program has registered an SDK. */
export function isOn(): boolean {
  return registered()?.trace !== undefined
}

/**
 * Runs work in a span, which ends with it. Call it only if {@link isOn}: otherwise options and work were made for nothing.
 *
 * @throws what the work throws
 */
export async function span<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const open = start(name, options)
  try {
    const result = await open.run(() => work(open))
    open.end()
    return result
  } catch (error) {
    open.fail(error)
    throw error
  }
}

/** Starts a span that ends later, in another call. */
export function start(name: string, { kind = 'internal', attributes = {}, parent, isRequest }: SpanOptions): OpenSpan {
  const outer = (parent?.context as Context | undefined) ?? activeContext()
  const known = isRequest ? undefined : (outer.getValue(scopeKey) as Scope | undefined)
  const scope = known ?? { attributes: {}, open: new Set() }
  if (isRequest) Object.assign(scope.attributes, bounded(attributes))
  const own = { ...scope.attributes, ...bounded(attributes) }
  const inner = attempt(() =>
    registered()?.trace?.getTracer(tracerName).startSpan(name, { kind: kinds[kind], attributes: own }, outer),
  )
  if (inner === undefined) return nothing
  scope.open.add(inner)
  const context = outer.setValue(spanKey, inner).setValue(scopeKey, scope)
  const set = (more: Attributes): void => void attempt(() => inner.setAttributes(bounded(more)))
  const end = (more: Attributes = {}): void => {
    if (!scope.open.delete(inner)) return
    set(more)
    attempt(() => inner.end())
  }
  return {
    run: (work) => runIn(context, work),
    set,
    end,
    fail: (error) => {
      const type = codeOf(error)
      attempt(() => inner.setStatus({ code: errorStatus, message: type }))
      end({ 'error.type': type })
    },
  }
}

/** Puts attributes on the active span, on those around it that belong to the same request, and on those that follow. */
export function annotate(attributes: Attributes): void {
  const scope = activeContext().getValue(scopeKey) as Scope | undefined
  if (scope === undefined) return
  const known = bounded(attributes)
  Object.assign(scope.attributes, known)
  for (const one of scope.open) attempt(() => one.setAttributes(known))
}

/** An attribute of the request that is active; undefined if it has none of that name. */
export function attribute(name: string): string | number | boolean | undefined {
  return (activeContext().getValue(scopeKey) as Scope | undefined)?.attributes[name]
}

/**
 * Passes the active span on with a request, as headers: `traceparent` of W3C, or what else the SDK was told. No baggage: sellers,
 * facilitators and nodes are of others, and programs keep there what is for themselves.
 */
export function inject(setHeader: (name: string, value: string) => void): void {
  const setter = { set: (_: unknown, name: string, value: string) => isBaggage(name) || setHeader(name, value) }
  attempt(() => registered()?.propagation?.inject(activeContext(), {}, setter))
}

/** Where a request comes from: the active span, if the server of the program has one, otherwise what its headers say. */
export function parentOf(header: (name: string) => string | null | undefined): Parent {
  const context = activeContext()
  if (context.getValue(spanKey) !== undefined) return { context }
  // Baggage of strangers is not passed on. Two programs on the way may each have added one; a list is no valid one, and the last is of the nearest.
  const get = (_: unknown, name: string): string | undefined =>
    (name === 'traceparent' ? header(name)?.split(',').at(-1)?.trim() : isBaggage(name) ? undefined : header(name)) ??
    undefined
  const getter: TextMapGetter = { get, keys: () => [] }
  return { context: attempt(() => registered()?.propagation?.extract(context, {}, getter)) ?? context }
}

function isBaggage(name: string): boolean {
  return name.toLowerCase() === 'baggage'
}

/** Runs work that is for many requests, and must not be a part of the one that happened to begin it. */
export function outside<T>(work: () => T): T {
  return runIn(rootContext, work)
}

function registered(): Registered | undefined {
  return (globalThis as { [registry]?: Registered })[registry]
}

function activeContext(): Context {
  return attempt(() => registered()?.context?.active()) ?? rootContext
}

function runIn<T>(context: Context, work: () => T): T {
  const manager = registered()?.context
  return manager === undefined ? work() : manager.with(context, work)
}

/** Texts may come from outside. */
function bounded(attributes: Attributes): { [name: string]: string | number | boolean } {
  const result: { [name: string]: string | number | boolean } = {}
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) result[name] = typeof value === 'string' ? value.slice(0, maxTextLength) : value
  }
  return result
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return String(typeof code === 'string' ? code : (name ?? 'error'))
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Without a context manager, every span begins a trace of its own. */
function contextOf(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => contextOf(new Map([...values, [key, value]])),
    deleteValue: (key) => contextOf(new Map([...values].filter(([one]) => one !== key))),
  }
}

const rootContext = contextOf(new Map())
const nothing: OpenSpan = { run: (work) => work(), set: () => {}, end: () => {}, fail: () => {} }

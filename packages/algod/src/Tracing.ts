/**
 * Spans with the API of OpenTelemetry, if the program has registered an SDK. Otherwise nothing is loaded, and a call
 * costs one symbol lookup. The API stores its registrations under a symbol of `globalThis` that all copies of its
 * version 1 share. The symbol is read directly instead of importing the API, so a program that is bundled, or installed
 * apart from the SDK, is traced too.
 *
 * Errors of an SDK are ignored, because tracing must never be a reason to refuse a payment.
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
/** The key under which every copy of the API stores the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')
const scopeKey = Symbol.for('latchkey.trace.scope')
const tracerName = 'latchkey'
/** Values of `SpanKind` and `SpanStatusCode`, which are enums. Importing them would load the API. */
const kinds = { internal: 0, server: 1, client: 2 } as const satisfies { [name: string]: SpanKind }
const errorStatus = 2
const maxTextLength = 256

/** The attributes of a span. They never contain a secret or a payment. */
export type Attributes = { readonly [name: string]: string | number | boolean | undefined }

/** The attribute names that several packages share. */
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
  /** The origin of the request. @default the active span */
  readonly parent?: Parent | undefined
  /** Whether the span starts a separate request, which does not inherit attributes of the enclosing one. */
  readonly isRequest?: boolean | undefined
}

/** A context that a request came with. */
export type Parent = { readonly context: unknown }

/** A span that has not ended. */
export type OpenSpan = {
  /** Runs work in the span. Spans that the work starts are nested in it. */
  readonly run: <T>(work: () => T) => T
  readonly set: (attributes: Attributes) => void
  /** Ends the span. Further calls have no effect. */
  readonly end: (attributes?: Attributes) => void
  /** Ends the span with the code of an error. The message is omitted, because it may contain private data. */
  readonly fail: (error: unknown) => void
}

/** The attributes that all spans of one request share. Late ones are added to the open spans and to later ones. */
type Scope = { readonly attributes: { [name: string]: string | number | boolean }; readonly open: Set<Span> }

/** Whether the program has registered an SDK. */
export function isOn(): boolean {
  return registered()?.trace !== undefined
}

/**
 * Runs work in a span that ends with the work, or only the work if no SDK is registered.
 *
 * @throws the error of the work
 */
export function span<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  return isOn() ? traced(name, options, work) : work(nothing)
}

async function traced<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
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

/** Starts a span that another call ends later. */
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

/** Sets attributes on the active span, on the enclosing spans of the same request, and on later ones. */
export function annotate(attributes: Attributes): void {
  const scope = activeContext().getValue(scopeKey) as Scope | undefined
  if (scope === undefined) return
  const known = bounded(attributes)
  Object.assign(scope.attributes, known)
  for (const one of scope.open) attempt(() => one.setAttributes(known))
}

/** Returns an attribute of the active request, or undefined if there is none of that name. */
export function attribute(name: string): string | number | boolean | undefined {
  return (activeContext().getValue(scopeKey) as Scope | undefined)?.attributes[name]
}

/**
 * Passes the active span on with a request as headers: `traceparent` of W3C, or the format configured in the SDK. Omits
 * baggage, because sellers, facilitators and nodes belong to others, and programs use baggage for their own data.
 */
export function inject(setHeader: (name: string, value: string) => void): void {
  const setter = { set: (_: unknown, name: string, value: string) => isBaggage(name) || setHeader(name, value) }
  attempt(() => registered()?.propagation?.inject(activeContext(), {}, setter))
}

/**
 * Returns the origin of a request: the active span if the program's server has one, and otherwise that of its headers.
 */
export function parentOf(header: (name: string) => string | null | undefined): Parent {
  const context = activeContext()
  if (context.getValue(spanKey) !== undefined) return { context }
  // Baggage from others is not accepted. Two proxies may each have added a `traceparent`. A list is invalid, and the
  // last entry is from the nearest one.
  const get = (_: unknown, name: string): string | undefined =>
    (name === 'traceparent' ? header(name)?.split(',').at(-1)?.trim() : isBaggage(name) ? undefined : header(name)) ??
    undefined
  const getter: TextMapGetter = { get, keys: () => [] }
  return { context: attempt(() => registered()?.propagation?.extract(context, {}, getter)) ?? context }
}

function isBaggage(name: string): boolean {
  return name.toLowerCase() === 'baggage'
}

/** Runs work that serves many requests and must not be part of the one that started it. */
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

/** Without a context manager, every span starts its own trace. */
function contextOf(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => contextOf(new Map([...values, [key, value]])),
    deleteValue: (key) => contextOf(new Map([...values].filter(([one]) => one !== key))),
  }
}

const rootContext = contextOf(new Map())
const nothing: OpenSpan = { run: (work) => work(), set: () => {}, end: () => {}, fail: () => {} }

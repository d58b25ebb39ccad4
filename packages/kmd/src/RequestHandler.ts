/** Turns a request into its response. Uses no sockets: the whole API can be called through `handle` or `fetch`. */
import {
  Access,
  BodyError,
  type BodyErrorCode,
  type FetchHandler,
  type RawRequest,
  type RawResponse,
  toFetch,
} from '@latchkey/http'
import type { Member, MembersOf, Wire as WireName } from '@latchkey/kmd-api'
import { descriptionPath, extraPrefix, isOpen, metricsPath, OpenApi, statusOf } from '@latchkey/kmd-api'
import * as AgentToken from './agents/AgentToken.js'
import { approvalHeader, refusalHeader } from './agents/refusalError.js'
import { approvalOf, approvalResponse } from './api/approvalOperations.js'
import { type AgentCaller, type Caller, type Context, owner } from './api/Context.js'
import type { Members, Operation } from './api/Operations.js'
import * as Operations from './api/Operations.js'
import type { Recorder } from './audit/Recorder.js'
import { bodyLimitOf } from './bodyLimits.js'
import * as ConsoleFiles from './console/files.js'
import type { Session } from './console/Sessions.js'
import { type Code, KmdError } from './errors.js'
import type { Metrics } from './Metrics.js'
import { agentAccess, documentOf, forbiddenHost, methodsOf, pathOf, type Route, routeOf } from './requestRoute.js'
import * as JsonBody from './wire/JsonBody.js'
import * as KeyResponse from './wire/KeyResponse.js'
import * as Wire from './wire/Wire.js'

/** Options of {@link RequestHandler}. */
export type RequestHandlerOptions = {
  context: Context
  wire: WireName
  token: Access.TokenCheck
  /** Whether an Authorization header may read the metrics, and nothing else. @default none may */
  isMetricsToken?: (authorization: string | undefined) => boolean
  cors: Omit<Access.CorsSettings, keyof typeof corsLists>
  /** Host names served in addition to those of the loopback interface. */
  hosts: ReadonlySet<string>
  metrics: Metrics
  /** Records operations in the audit log. @default nothing is recorded */
  recorder?: Recorder | undefined
  /** Replaces the console's own files. */
  consoleFile?: ConsoleFiles.Find
  /** Called for every request on a known path with a valid token. This keeps the daemon from going idle. */
  onActivity?: () => void
  /** Called with errors that are not the client's fault, and the request id. The errors contain no secret. */
  onFailure?: (operation: string, error: unknown, requestId: string | undefined) => void
}

type Input = Members
type Output = MembersOf<readonly Member[]>

/** As sent by the reference. */
const corsLists = {
  allowedHeaders: 'X-KMD-API-Token, Content-Type',
  allowedMethods: 'GET, POST, DELETE, OPTIONS',
}

const bodyCodes: Record<BodyErrorCode, Code> = {
  body_too_large: 'body_too_large',
  body_malformed: 'bad_body',
  body_no_room: 'body_no_room',
  body_timeout: 'body_timeout',
}

/** The error code, in addition to the text in the body, where the Go client's decoder rejects unknown members. */
const errorHeader = 'Latchkey-Error'
/** A request in progress. Without `bodyLimit`, the server's own limit applies. */
type Call = {
  operation: Operation
  caller: Caller
  bodyLimit: number | undefined
  route: Route
  request: RawRequest
  startedAt: number
  body: Buffer
  input: Input
}
/** The response to a request that is not admitted. */
type Rejected = { operation: undefined; response: RawResponse | Promise<RawResponse> }

/**
 * Names of callers that share a connection limit, in addition to each agent by its id. The owner's token has no limit.
 */
const [consoleHolder, metricsHolder] = ['the console', 'the metrics']
const retryConnectionSeconds = 1

/** Lets the script of an allowed page read the error code. */
const exposedHeaders = [
  'Access-Control-Expose-Headers',
  `${errorHeader}, ${refusalHeader}, ${approvalHeader}, Retry-After`,
]
const emptyBody: Buffer = Buffer.alloc(0)
const noInput: Input = {}

const idsWhere = (matches: (response: readonly Member[]) => boolean): ReadonlySet<string> =>
  new Set(Operations.operations.filter(({ response }) => matches(response)).map(({ id }) => id))
/** Operations whose response is a secret. */
const keyOperations = idsWhere(KeyResponse.hasKey)
const asciiOperations = idsWhere(Wire.isAscii)

export class RequestHandler {
  /** The API as a web-standard handler, for any server. */
  readonly fetch: FetchHandler = toFetch((request) => this.handle(request))
  readonly #options: RequestHandlerOptions
  #description: string | undefined
  /** The lookup of the user of the request that is admitted now. */
  #lookUp: Promise<void> | undefined
  #corsSettings: Access.CorsSettings
  #hosts: ReadonlySet<string>
  /** By the headers object of a request. */
  #routes = new WeakMap<object, Route>()
  /** Responses of operations that return the same output again (see `Operation.reusesOutput`). */
  readonly #written = new WeakMap<object, string>()

  constructor(options: RequestHandlerOptions) {
    this.#options = options
    this.#corsSettings = { ...options.cors, ...corsLists }
    this.#hosts = options.hosts
  }

  /** Changes which pages and host names are served, from the next request on. */
  configure({ cors, hosts }: Pick<RequestHandlerOptions, 'cors' | 'hosts'>): void {
    this.#corsSettings = { ...cors, ...corsLists }
    this.#hosts = hosts
    this.#routes = new WeakMap()
  }

  /**
   * The same handler in the private form of `@latchkey/http`, which costs less. Available values are not awaited and
   * synchronous results are returned without a promise, because each extra turn of the event loop measurably lowers the
   * signing rate.
   */
  handle(request: RawRequest): RawResponse | Promise<RawResponse> {
    const response = this.#serve(request)
    const lookUp = this.#lookUp
    if (lookUp === undefined) return response
    this.#lookUp = undefined
    return Promise.all([response, lookUp]).then(([served]) => served)
  }

  #serve(request: RawRequest): RawResponse | Promise<RawResponse> {
    const call = this.#admit(request, this.#route(request))
    if (call.operation === undefined) return call.response
    try {
      const arriving = call.operation.method === 'GET' ? emptyBody : request.body(call.bodyLimit)
      if (arriving instanceof Promise) return this.#handleLater(call, arriving)
      const result = this.#start(call, arriving)
      return result instanceof Promise ? this.#handleLater(call, arriving, result) : this.#succeed(call, result)
    } catch (error) {
      return this.#fail(call, error)
    }
  }

  async #handleLater(call: Call, arriving: Buffer | Promise<Buffer>, started?: Promise<Output>): Promise<RawResponse> {
    try {
      const output = await (started ?? this.#start(call, await arriving))
      return this.#succeed(call, output)
    } catch (error) {
      return this.#fail(call, error)
    }
  }

  #start(call: Call, body: Buffer): Output | Promise<Output> {
    const { operation, caller } = call
    call.body = body
    if (operation.method !== 'GET') call.input = JsonBody.read(body, operation.request, this.#options.wire)
    return this.#perform(operation, call.input, caller)
  }

  #succeed(call: Call, output: Output): RawResponse {
    return this.#finish(call, this.#respond(call.operation, output, call.route.headers))
  }

  #fail(call: Call, error: unknown): RawResponse | Promise<RawResponse> {
    const { recorder } = this.#options
    if (recorder === undefined || !isWrongPassword(error)) return this.#failNow(call, error)
    return recorder.wrongPassword(call.operation, call.input, call.caller).then(() => this.#failNow(call, error))
  }

  #failNow(call: Call, error: unknown): RawResponse {
    const { operation, request, bodyLimit, route } = call
    const explained = this.#explain(operation.id, error, request, bodyLimit)
    const response = this.#errorResponse(explained, route.cors, operation)
    const approval = this.#approval(explained, operation, request)
    return this.#finish(call, approval === undefined ? response : { ...response, status: 202, body: approval })
  }

  #finish({ operation, caller, body, startedAt }: Call, response: RawResponse): RawResponse {
    if (caller.type === 'agent') this.#options.context.agents.release(caller.agent)
    // The body may hold passwords, handles and keys.
    body.fill(0)
    this.#options.metrics.observe(operation.id, response.status, (performance.now() - startedAt) / 1000)
    return response
  }

  /** The response to a request that is rejected before it is read. */
  refuse(error: KmdError): RawResponse {
    return this.#errorResponse(error, [])
  }

  /** Returns the call of the operation that the request may use, or the response it gets instead. */
  #admit(request: RawRequest, route: Route): Call | Rejected {
    const { path, operation, cors } = route
    if (!route.isHostAllowed) return rejected(this.#errorResponse(forbiddenHost(request.header('host')), []))
    request.matched?.(route.pattern)
    if (request.method === 'OPTIONS') return rejected({ status: 200, headers: cors, body: '' })
    let caller: Caller = owner
    try {
      caller = this.#identify(request, route)
    } catch (error) {
      return rejected(this.#errorResponse(this.#explain(path, error, request), cors))
    }
    if (operation === undefined) {
      if (caller.type === 'agent') this.#options.context.agents.release(caller.agent)
      return rejected(this.#serveOther(request, path, cors, caller))
    }
    if (path.startsWith('/v1/') || caller.type === 'agent') this.#options.onActivity?.()
    const bodyLimit = bodyLimitOf(operation, caller, route)
    const startedAt = performance.now()
    return { operation, caller, bodyLimit, route, request, startedAt, body: emptyBody, input: noInput }
  }

  /**
   * Identifies the sender of the request. An agent's token is always checked, even where no token is needed: an agent
   * may not do here what it may not do elsewhere. A document requested without an agent's token checks for itself who
   * may read it.
   *
   * @throws {@link KmdError} if there is no valid token, or it may not be used for this
   */
  #identify(request: RawRequest, route: Route): Caller {
    const { operation } = route
    const agent = route.mayBeAgent ? this.#agent(request, route) : undefined
    if (agent !== undefined) return agent
    if (operation === undefined || route.isOpen || this.#isOwner(request, route)) return owner
    const session = this.#session(request, operation)
    if (session === undefined) throw new KmdError('invalid_token')
    if (operation.access.console !== 'allowed') throw new KmdError('console_refused')
    return { type: 'session', session }
  }

  /** The agent whose token the request has; undefined if it has none, or if the path is not served. */
  #agent(request: RawRequest, { servedAs, agentAccess: access }: Route): AgentCaller | undefined {
    const token = AgentToken.ofRequest(request)
    if (token === undefined || servedAs === undefined || this.#options.token.matches(token)) return undefined
    const { agents, agentPresence } = this.#options.context
    const agent = agents.authenticate(token)
    if (agent === undefined) throw new KmdError('invalid_token')
    if (request.authenticated?.(agent.agentId) === false) {
      agents.release(agent)
      throw tooManyConnections()
    }
    this.#lookUp = agentPresence.used(agent.agentId, request.ends?.())
    if (access === undefined || access.use === 'refused') {
      agents.release(agent)
      void this.#options.recorder?.operationRefused(agents.get(agent.agentId), servedAs)
      throw new KmdError('agent_operation_forbidden')
    }
    return { type: 'agent', agent }
  }

  #perform(operation: Operation, input: Input, caller: Caller): Output | Promise<Output> {
    const { recorder, context } = this.#options
    if (caller.type === 'agent') return operation.runAsAgent(context, input, caller) as Output | Promise<Output>
    const recording = recorder?.find(operation)
    if (recorder === undefined || recording === undefined) {
      return operation.run(context, input, caller) as Output | Promise<Output>
    }
    return recorder.perform(recording, operation, input, caller) as Promise<Output>
  }

  #respond(operation: Operation, output: Output, headers: string[]): RawResponse {
    if (keyOperations.has(operation.id))
      return { status: 200, headers, body: this.#writeKey(operation, output), wipe: true }
    return { status: 200, headers, body: this.#write(operation, output), isAscii: asciiOperations.has(operation.id) }
  }

  #write(operation: Operation, output: Output): string {
    const known = operation.reusesOutput ? this.#written.get(output) : undefined
    if (known !== undefined) return known
    const written = Wire.write(this.#options.wire, operation.response, output)
    if (operation.reusesOutput) this.#written.set(output, written)
    return written
  }

  #writeKey(operation: Operation, output: Output): Buffer {
    try {
      return KeyResponse.write(this.#options.wire, operation.response, output)
    } finally {
      for (const value of Object.values(output)) if (value instanceof Uint8Array) value.fill(0)
    }
  }

  /** Serves everything that is not an operation. */
  #serveOther(request: RawRequest, path: string, cors: string[], { type }: Caller): RawResponse | Promise<RawResponse> {
    try {
      const document = this.#document(request, path, cors, type === 'agent')
      return document ?? this.#consoleFile(request, path) ?? this.#unmatched(path)
    } catch (error) {
      return this.#errorResponse(this.#explain(path, error, request), cors)
    }
  }

  /** The two responses that are not a JSON envelope: the API description and the metrics. */
  #document(request: RawRequest, path: string, cors: string[], isAgent: boolean): RawResponse | undefined {
    const isDescription = path === descriptionPath
    const isOpenPath = isDescription || Operations.find('GET', path)?.open !== undefined
    const isHead = request.method === 'HEAD' && isOpenPath
    if (!isHead && !(request.method === 'GET' && (isDescription || path === metricsPath))) return undefined
    const needsToken = !isOpenPath || this.#options.wire !== 'reference'
    const isMetrics = path === metricsPath
    const mayRead = (): boolean => isAgent || (isMetrics && this.#hasMetricsToken(request)) || this.#hasAccess(request)
    if (needsToken && !mayRead()) {
      return this.#errorResponse(new KmdError('invalid_token'), cors)
    }
    const type = isMetrics ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
    const body = isHead ? '' : isDescription ? this.#describe() : this.#options.metrics.text()
    return { status: 200, headers: ['Content-Type', type, ...cors], body }
  }

  /** Generated at the first request, because few clients ask for it and it would take a tenth of the daemon's start. */
  #describe(): string {
    this.#description ??= JSON.stringify(OpenApi.describe(this.#options.wire), null, 2)
    return this.#description
  }

  #consoleFile(request: RawRequest, path: string): RawResponse | Promise<RawResponse> | undefined {
    if (!ConsoleFiles.isPath(path)) return ConsoleFiles.frontPage(request, path)
    if (!ConsoleFiles.methods.includes(request.method)) return undefined
    return this.#serveConsole(request, path).catch((error: unknown) =>
      this.#errorResponse(this.#explain('the console', error, request), []),
    )
  }

  /** The console is loaded at its first request, because most daemons never serve it. */
  async #serveConsole(request: RawRequest, path: string): Promise<RawResponse> {
    const find = this.#options.consoleFile ?? (await import('@latchkey/pages/console')).consoleFile
    return ConsoleFiles.serve(request, path, find)
  }

  #unmatched(path: string): RawResponse {
    const methods = methodsOf(path)
    if (methods.length === 0) return this.#errorResponse(new KmdError('not_found'), [])
    return this.#errorResponse(new KmdError('method_not_allowed'), ['Allow', [...methods, 'OPTIONS'].join(', ')])
  }

  /** Compares the token once per head: the same bytes on the same connection have the same token. */
  #isOwner(request: RawRequest, route: Route): boolean {
    const { version } = this.#options.token
    if (route.ownerVersion !== version) {
      if (!this.#hasToken(request)) return false
      route.ownerVersion = version
      return true
    }
    request.authenticated?.()
    return true
  }

  #hasToken(request: RawRequest): boolean {
    const isValid = this.#options.token.matches(request.header(AgentToken.tokenHeader))
    if (isValid) request.authenticated?.()
    return isValid
  }

  #hasMetricsToken(request: RawRequest): boolean {
    const isValid = this.#options.isMetricsToken?.(request.header('authorization')) === true
    if (isValid && request.authenticated?.(metricsHolder) === false) throw tooManyConnections()
    return isValid
  }

  #hasAccess(request: RawRequest): boolean {
    return this.#hasToken(request) || this.#session(request) !== undefined
  }

  #session(request: RawRequest, operation?: Operation): Session | undefined {
    const isWaiting = operation?.waits === true
    const session = this.#options.context.sessions.use(request.header(AgentToken.tokenHeader), { isWaiting })
    if (session !== undefined && request.authenticated?.(consoleHolder) === false) throw tooManyConnections()
    return session
  }

  /**
   * The parts that depend only on the head of the request. The server reuses the headers object for identical requests
   * on a connection.
   */
  #route(request: RawRequest): Route {
    const { headers } = request
    const known = headers === undefined ? undefined : this.#routes.get(headers)
    if (known !== undefined) return known
    const path = pathOf(request.target)
    const operation = request.method === 'OPTIONS' ? undefined : Operations.find(request.method, path)
    const cors = this.#cors(request)
    const route: Route = {
      path,
      operation,
      cors,
      pattern: operation?.path ?? routeOf(path),
      isHostAllowed: Access.isHostAllowed(request.header('host'), this.#hosts, request.localAddress),
      headers: Object.freeze(['Content-Type', 'application/json', ...cors]) as string[],
      servedAs: operation?.id ?? documentOf(path),
      isOpen: operation !== undefined && isOpen(operation, this.#options.wire),
      mayBeAgent: AgentToken.mayBeIn(request),
      agentAccess: agentAccess(operation, path),
      ownerVersion: undefined,
    }
    if (headers !== undefined) this.#routes.set(headers, route)
    return route
  }

  #cors(request: RawRequest): string[] {
    return Access.corsHeaders(this.#corsSettings, {
      method: request.method,
      origin: request.header('origin'),
      privateNetwork: request.header('access-control-request-private-network'),
    })
  }

  #explain(operation: string, error: unknown, { id }: RawRequest, bodyLimit?: number): KmdError {
    if (error instanceof BodyError) {
      const isLower = error.code === 'body_too_large' && bodyLimit !== undefined
      const text = isLower ? { message: `request body too large, must be <= ${bodyLimit} bytes` } : {}
      const retryAfterSeconds = error.code === 'body_no_room' ? retryConnectionSeconds : undefined
      return new KmdError(bodyCodes[error.code], { ...text, retryAfterSeconds, cause: error })
    }
    if (error instanceof KmdError) {
      if (error.status >= 500 && error.status !== 503) this.#options.onFailure?.(operation, error, id)
      return error
    }
    this.#options.onFailure?.(operation, error, id)
    return new KmdError('internal', { cause: error })
  }

  /**
   * The body of a 202 for a transaction that waits for the owner. On the reference wire it is sent only to clients that
   * ask for it (RFC 7240), because others would take any 2xx for a signature.
   */
  #approval({ code, headers }: KmdError, { id }: Operation, request: RawRequest): string | undefined {
    if (code !== 'agent_approval_required') return undefined
    const prefers = /(^|[,\s])respond-async\s*($|[,;])/i.test(request.header('prefer') ?? '')
    const approvalId = headers[headers.indexOf(approvalHeader) + 1]
    if ((!signsAsAgent(id) && !prefers) || approvalId === undefined) return undefined
    try {
      return Wire.write(this.#options.wire, approvalResponse, approvalOf(this.#options.context, approvalId))
    } catch (error) {
      // The error also names the approval.
      this.#options.onFailure?.(id, error, request.id)
      return undefined
    }
  }

  #errorResponse(error: KmdError, headers: string[], operation: Partial<Operation> = {}): RawResponse {
    const exposed = headers.includes('Access-Control-Allow-Origin') ? exposedHeaders : []
    const retry = error.retryAfterSeconds === undefined ? [] : ['Retry-After', String(error.retryAfterSeconds)]
    return {
      status: statusOf(operation, error.code),
      headers: [
        'Content-Type',
        'application/json',
        ...headers,
        ...exposed,
        ...retry,
        ...error.headers,
        errorHeader,
        error.code,
      ],
      body: Wire.writeError(this.#options.wire, error, refusalOf(error, operation)),
    }
  }
}

/** The Go client's decoder rejects unknown members, so the reference wire has the refusal only in the header. */
function refusalOf({ headers }: KmdError, { path = '' }: Partial<Operation>): string | undefined {
  const at = headers.indexOf(refusalHeader)
  return at < 0 || !path.startsWith(extraPrefix) ? undefined : headers[at + 1]
}

function rejected(response: RawResponse | Promise<RawResponse>): Rejected {
  return { operation: undefined, response }
}

/** The error of a holder whose connections are all in use. */
export function tooManyConnections(): KmdError {
  return new KmdError('too_many_connections', { retryAfterSeconds: retryConnectionSeconds })
}

function isWrongPassword(error: unknown): boolean {
  return error instanceof KmdError && error.code === 'wrong_password'
}

function signsAsAgent(id: Operation['id']): boolean {
  return id === 'SignAsAgent' || id === 'SignUptoAsAgent'
}

/** From a request to its answer. No sockets here: the whole API can be tried by calling `handle`. */
import { Access, BodyError, type RawRequest, type RawResponse } from '@latchkey/http'
import { metricsPath } from './api/latchkeyOperations.js'
import { describe } from './api/OpenApi.js'
import { isOpen, type Operation } from './api/Operation.js'
import * as Operations from './api/Operations.js'
import { statusOf } from './api/operationErrors.js'
import type { Services } from './api/Services.js'
import { descriptionPath } from './api/serviceOperations.js'
import * as ConsoleFiles from './console/files.js'
import * as Permissions from './console/Permissions.js'
import type { Session } from './console/Sessions.js'
import { type Code, KmdError } from './errors.js'
import type { Metrics } from './Metrics.js'
import * as JsonBody from './wire/JsonBody.js'
import * as Wire from './wire/Wire.js'

export type { RawResponse } from '@latchkey/http'

type Output = Wire.MembersOf<readonly Wire.Member[]>

/** What follows from the head of a request alone; not whether its token is right, which may change. */
type Route = { path: string; operation: Operation | undefined; isHostAllowed: boolean; cors: string[] }

/** One request on its way through an operation. */
type Call = {
  operation: Operation
  session: Session | undefined
  cors: string[]
  startedAt: number
  body: Buffer
}

export type AppOptions = {
  services: Services
  wire: Wire.Wire
  token: Access.TokenCheck
  cors: Omit<Access.CorsSettings, keyof typeof corsLists>
  /** Host names that are served beside those of the loopback interface. */
  hosts: ReadonlySet<string>
  metrics: Metrics
  /** In the place of the console's own files. */
  consoleFile?: ConsoleFiles.Find
  /** Told of every request on a known path with the right token: it keeps the daemon from going idle. */
  onActivity?: () => void
  /** Told of what went wrong inside. Never of a secret. */
  onFailure?: (operation: string, error: unknown) => void
}

/** As the reference sends them. */
const corsLists = {
  allowedHeaders: 'X-KMD-API-Token, Content-Type',
  allowedMethods: 'GET, POST, DELETE, OPTIONS',
}

const bodyFailures: Record<BodyError['code'], Code> = {
  body_too_large: 'body_too_large',
  body_malformed: 'bad_body',
  body_timeout: 'body_timeout',
}

const tokenHeader = 'x-kmd-api-token'
/** The code of an error, beside its text in the body: the Go client's decoder rejects unknown members there. */
const errorHeader = 'Latchkey-Error'
const empty: Buffer = Buffer.alloc(0)

export class App {
  readonly #options: AppOptions
  readonly #services: Services
  readonly #description: string
  readonly #corsSettings: Access.CorsSettings
  readonly #routes = new WeakMap<object, Route>()
  /** Answers that were written before, by the output they were written from (see `Operation.run`). */
  readonly #written = new WeakMap<object, string>()

  constructor(options: AppOptions) {
    this.#options = options
    this.#description = JSON.stringify(describe(options.wire), null, 2)
    this.#services = options.services
    this.#corsSettings = { ...options.cors, ...corsLists }
  }

  /** Most requests are answered at once; only one that has to wait costs a promise. */
  handle(request: RawRequest): RawResponse | Promise<RawResponse> {
    const route = this.#route(request)
    const { path, operation, cors } = route
    if (!route.isHostAllowed) return this.#failure(new KmdError('forbidden_host'), [])
    if (request.method === 'OPTIONS') return { status: 200, headers: cors, body: '' }
    if (operation === undefined) {
      return this.#plain(request, path) ?? this.#consoleFile(request, path) ?? this.#unmatched(path)
    }
    let session: Session | undefined
    if (!isOpen(operation, this.#options.wire) && !this.#hasToken(request)) {
      session = this.#session(request)
      if (session === undefined) return this.#failure(new KmdError('invalid_token'), cors)
      if (!Permissions.mayUse(operation.id)) return this.#failure(new KmdError('console_refused'), cors)
    }
    if (path.startsWith('/v1/')) this.#options.onActivity?.()
    return this.#run({ operation, session, cors, startedAt: performance.now(), body: empty }, request)
  }

  #route(request: RawRequest): Route {
    const known = request.head === undefined ? undefined : this.#routes.get(request.head)
    if (known !== undefined) return known
    const path = pathOf(request.target)
    const route = {
      path,
      operation: Operations.find(request.method, path),
      isHostAllowed: Access.isHostAllowed(request.header('host'), this.#options.hosts, request.localAddress),
      cors: this.#cors(request),
    }
    if (request.head !== undefined) this.#routes.set(request.head, route)
    return route
  }

  #run(call: Call, request: RawRequest): RawResponse | Promise<RawResponse> {
    try {
      const body = call.operation.method === 'GET' ? empty : request.body()
      if (!(body instanceof Promise)) return this.#perform(call, body)
      return body.then((arrived) => this.#perform(call, arrived)).catch((error: unknown) => this.#fail(call, error))
    } catch (error) {
      return this.#fail(call, error)
    }
  }

  #perform(call: Call, body: Buffer): RawResponse | Promise<RawResponse> {
    const { operation } = call
    call.body = body
    const input = operation.method === 'GET' ? {} : JsonBody.read(body, operation.request, this.#options.wire)
    const output = operation.run(this.#services, input, call.session)
    if (!(output instanceof Promise)) return this.#succeed(call, output)
    return output.then((waited) => this.#succeed(call, waited)).catch((error: unknown) => this.#fail(call, error))
  }

  #succeed(call: Call, output: Output): RawResponse {
    const body = this.#write(call.operation, output)
    return this.#finish(call, { status: 200, headers: ['Content-Type', 'application/json', ...call.cors], body })
  }

  #fail(call: Call, error: unknown): RawResponse {
    return this.#finish(call, this.#failure(this.#explain(call.operation.id, error), call.cors, call.operation))
  }

  #finish(call: Call, response: RawResponse): RawResponse {
    // Passwords, handles and keys came in it.
    call.body.fill(0)
    const seconds = (performance.now() - call.startedAt) / 1000
    this.#options.metrics.observe(call.operation.id, response.status, seconds)
    return response
  }

  #write(operation: Operation, output: Output): string {
    if (!Object.isFrozen(output)) return Wire.write(this.#options.wire, operation.response, output)
    let written = this.#written.get(output)
    if (written === undefined) {
      written = Wire.write(this.#options.wire, operation.response, output)
      this.#written.set(output, written)
    }
    return written
  }

  /** The two answers that are no JSON envelope. */
  #plain(request: RawRequest, path: string): RawResponse | undefined {
    const isDescription = path === descriptionPath
    const isOpenPath = isDescription || Operations.find('GET', path)?.open !== undefined
    const isHead = request.method === 'HEAD' && isOpenPath
    if (!isHead && !(request.method === 'GET' && (isDescription || path === metricsPath))) return undefined
    const needsToken = !isOpenPath || this.#options.wire !== 'reference'
    if (needsToken && !this.#hasToken(request) && this.#session(request) === undefined) {
      return this.#failure(new KmdError('invalid_token'), this.#cors(request))
    }
    const type = path === metricsPath ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
    const body = isHead ? '' : isDescription ? this.#description : this.#options.metrics.text()
    return { status: 200, headers: ['Content-Type', type, ...this.#cors(request)], body }
  }

  #consoleFile(request: RawRequest, path: string): Promise<RawResponse> | undefined {
    if (!ConsoleFiles.isPath(path) || !ConsoleFiles.methods.includes(request.method)) return undefined
    return this.#serveConsole(request, path).catch((error: unknown) =>
      this.#failure(this.#explain('the console', error), []),
    )
  }

  /** The pages are loaded with the first request for one: most daemons start without ever showing any. */
  async #serveConsole(request: RawRequest, path: string): Promise<RawResponse> {
    const find = this.#options.consoleFile ?? (await import('@latchkey/pages/console')).consoleFile
    return ConsoleFiles.serve(request, path, find)
  }

  #unmatched(path: string): RawResponse {
    const methods = methodsOf(path)
    if (methods.length === 0) return this.#failure(new KmdError('not_found'), [])
    return this.#failure(new KmdError('method_not_allowed'), ['Allow', [...methods, 'OPTIONS'].join(', ')])
  }

  #hasToken(request: RawRequest): boolean {
    return this.#options.token.matches(request.header(tokenHeader))
  }

  #session(request: RawRequest): Session | undefined {
    return this.#services.sessions.use(request.header(tokenHeader))
  }

  #cors(request: RawRequest): string[] {
    return Access.corsHeaders(this.#corsSettings, {
      method: request.method,
      origin: request.header('origin'),
      privateNetwork: request.header('access-control-request-private-network'),
    })
  }

  #explain(operation: string, error: unknown): KmdError {
    if (error instanceof BodyError) return new KmdError(bodyFailures[error.code], { cause: error })
    if (error instanceof KmdError) {
      if (error.status >= 500 && error.status !== 503) this.#options.onFailure?.(operation, error)
      return error
    }
    this.#options.onFailure?.(operation, error)
    return new KmdError('internal', { cause: error })
  }

  #failure(error: KmdError, headers: string[], operation?: Operation): RawResponse {
    const status = statusOf(operation ?? {}, error.code)
    const retry = error.retryAfterSeconds === undefined ? [] : ['Retry-After', String(error.retryAfterSeconds)]
    return {
      status,
      headers: ['Content-Type', 'application/json', ...headers, ...retry, errorHeader, error.code],
      body: Wire.writeError(this.#options.wire, error),
    }
  }
}

function methodsOf(path: string): readonly string[] {
  if (path === descriptionPath || path === metricsPath) return ['GET']
  return ConsoleFiles.isPath(path) ? ConsoleFiles.methods : Operations.methods(path)
}

function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

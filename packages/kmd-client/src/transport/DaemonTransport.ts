/** Sends requests to the daemon, and to nothing else: the peer is examined before anything is sent to it. */
import { LatchkeyError } from '@latchkey/algorand'
import {
  createFetchTransport,
  createTransport,
  type Ends,
  type Fetch,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '@latchkey/http-client'
import { KmdClientError } from '../KmdClientError.js'

export type DaemonRequest = Repeats &
  Pick<TransportRequest, 'server' | 'path' | 'method' | 'headers' | 'body' | 'maxResponseBytes'>

export type DaemonTransport = {
  /** Rejects with `TransportError`, `UnprovenPeerError` or the signal's reason. */
  readonly send: (request: DaemonRequest) => Promise<TransportResponse>
  /** Closes idle connections. Later requests open new ones. */
  readonly close: () => void
}

/** @param fetch sends the requests instead of the runtime's own connections */
export function createDaemonTransport(examine: Examine | undefined, fetch?: Fetch): DaemonTransport {
  const approve =
    examine && (async (ends: Parameters<Examine['connection']>[0]) => prove(await examine.connection(ends)))
  const own = fetch === undefined || examine === undefined ? fetch : examined(fetch, examine)
  const transport = own === undefined ? createTransport({ approve }) : createFetchTransport(own)
  return {
    send: async ({ once, repeatable, ...request }) => {
      if (request.server.socketPath !== undefined && !transport.hasUnixSockets) {
        const message = 'a Unix socket requires Node, and cannot be used with a custom fetch'
        throw new KmdClientError('invalid_argument', message, { operation: 'connect' })
      }
      // A request that must not be repeated gets a new connection, which no earlier response has used.
      return repeating({ ...request, once, repeatable }, (attempt, leftMs) =>
        transport.send({ ...request, timeoutMs: leftMs, needsNewConnection: attempt > 0 || once }),
      )
    },
    close: () => transport.close(),
  }
}

/**
 * The connections of a `fetch` cannot be inspected, so the peer is examined over a separate connection before each
 * request. This leaves a gap between examination and request, which the client's own connections do not have.
 */
function examined(fetch: Fetch, examine: Examine): Fetch {
  return async (url, init) => {
    const { hostname, port } = new URL(url)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    prove(await examine.address(host, port === '' ? 80 : Number(port)))
    // The body may already be wiped.
    init.signal?.throwIfAborted()
    return fetch(url, init)
  }
}

function prove(doubt: Awaited<ReturnType<Examine['address']>>): void {
  if (doubt !== undefined) throw new UnprovenPeerError(doubt)
}

/** Why the peer is not accepted as the daemon. */
export type Doubt = {
  /** Another user's program, a daemon that has ended, or a system that does not reveal the peer. */
  reason: 'foreign' | 'stale' | 'unproven'
  message: string
}

/** Examines the peer before anything is sent to it. Resolves to undefined if the peer is the daemon. */
export type Examine = {
  connection: (ends: Ends) => Promise<Doubt | undefined>
  /** For connections that cannot be inspected. Rejects with `TransportError` if no connection can be made. */
  address: (host: string, port: number) => Promise<Doubt | undefined>
}

/** The listening program is not the daemon. Nothing was sent. */
export class UnprovenPeerError extends LatchkeyError<'unproven'> {
  override name = 'UnprovenPeerError'
  readonly doubt: Doubt

  constructor(doubt: Doubt) {
    super('unproven', doubt.message)
    this.doubt = doubt
  }
}

/** Which failures of a request may be repeated, and for how long. */
type Repeats = {
  /** Must not reach the daemon twice: never repeated, and not sent over a connection that may be stale. */
  readonly once: boolean
  /**
   * May reach the daemon twice. A request that is neither `once` nor `repeatable` is repeated only if the daemon had
   * closed an idle connection.
   */
  readonly repeatable: boolean
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** If this many attempts fail, the daemon is assumed to close every connection. */
const maxRepeatable = 3
const maxOthers = 2
/** Higher, because the daemon may be short of connections, or this machine too busy to send in time. */
const maxUnsent = 20
/** The pause before a later attempt, while a daemon short of connections closes some of them. */
const pauseMs = 100

/**
 * Runs attempts until one has a response, within the request's time limit. The daemon closes idle connections,
 * sometimes while a request is being sent, and closes others if it has too many. Reads and signatures are always
 * repeated: a transaction counts once, no matter how often it is signed. A request that changes state is repeated only
 * if its connection had been idle, so the daemon has not seen it.
 */
async function repeating<T>(
  { once, repeatable, timeoutMs, signal }: Repeats,
  run: (attempt: number, leftMs: number) => Promise<T>,
): Promise<T> {
  const endAt = performance.now() + timeoutMs
  let wasSent = false
  let unsent = 0
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt + unsent, attempt + unsent === 0 ? timeoutMs : endAt - performance.now())
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      error.wasSentBefore = wasSent
      if (error.isReset && error.isUnsent && unsent < maxUnsent && !signal?.aborted) {
        unsent++
        attempt--
        await pause(endAt)
        if (signal?.aborted || performance.now() >= endAt) throw error
        continue
      }
      const isLast = attempt + 1 >= (repeatable ? maxRepeatable : maxOthers)
      const maySee = error.isNewConnection && !repeatable
      if (once || isLast || maySee || !error.isReset || signal?.aborted) throw error
      wasSent ||= error.isNewConnection
      if (attempt > 0) await pause(endAt)
      if (signal?.aborted || performance.now() >= endAt) throw error
    }
  }
}

function pause(endAt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pauseMs, endAt - performance.now()))))
}

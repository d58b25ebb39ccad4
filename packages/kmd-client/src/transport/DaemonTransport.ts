/** Sends requests to the daemon, and to nothing else: the peer is examined before anything is sent to it. */
import {
  createFetchTransport,
  createTransport,
  type Fetch,
  type TransportRequest,
  type TransportResponse,
} from '@latchkey/http-client'
import { KmdClientError } from '../KmdClientError.js'
import { type Examine, UnprovenPeerError } from './Examine.js'
import { type Repeats, repeating } from './repeating.js'

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

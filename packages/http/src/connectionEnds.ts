/** The two ends of a connection, looked up on demand. */
import type { Socket } from 'node:net'
import type { ConnectionEnds } from './Message.js'

/** Returns the same object each time, even after the connection was closed. */
export function lazyEnds(socket: () => Socket): () => ConnectionEnds {
  let ends: ConnectionEnds | undefined
  return () => {
    ends ??= read(socket())
    return ends
  }
}

function read(socket: Socket): ConnectionEnds {
  const { localAddress, localPort, remoteAddress, remotePort } = socket
  // Node has no public property for the descriptor.
  const { fd } = (socket as { _handle?: { fd?: unknown } | null })._handle ?? {}
  const descriptor = typeof fd === 'number' && fd >= 0 ? fd : undefined
  return { localAddress, localPort, remoteAddress, remotePort, descriptor }
}

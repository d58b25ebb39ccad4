/**
 * Detects this machine's own addresses, because a server that listens on all of them is also reachable by a public one.
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { canonical } from './publicAddress.js'

/** Like `networkInterfaces` of `node:os`. */
export type Interfaces = typeof networkInterfaces

/** Whether an address belongs to this machine, according to its current interfaces and routes. */
export async function isOwnAddress(address: string, interfaces: Interfaces = networkInterfaces): Promise<boolean> {
  const wanted = canonical(address)
  const isListed = Object.values(interfaces()).some((list) => list?.some((own) => canonical(own.address) === wanted))
  return isListed || (await routesToItself(address))
}

/**
 * Whether the system would use the address itself as the source, which means that a connection to it never leaves this
 * machine. Interfaces without a carrier and local routes have addresses that no list contains. A datagram socket asks
 * for the route without sending anything.
 */
function routesToItself(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const end = (isOwn: boolean): void => {
      resolve(isOwn)
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.close()
    }
    // Without a route no connection is possible either. Node passes the error to the callback or emits it.
    socket.once('error', () => end(false))
    socket.connect(discardPort, address, ((error?: Error) => {
      end(error == null && canonical(socket.address().address) === canonical(address))
    }) as () => void)
  })
}

const discardPort = 9

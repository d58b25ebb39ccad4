/** Which addresses are this machine's own: a server that listens on all of them is reached by a public one, too. */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { canonical } from './publicAddress.js'

/** As `networkInterfaces` of `node:os`. */
export type Interfaces = typeof networkInterfaces

/** Whether an address is one of this machine, as its interfaces and routes are now. */
export async function isOwnAddress(address: string, interfaces: Interfaces = networkInterfaces): Promise<boolean> {
  const wanted = canonical(address)
  const isListed = Object.values(interfaces()).some((list) => list?.some((own) => canonical(own.address) === wanted))
  return isListed || (await routesToItself(address))
}

/**
 * Whether the system would use the address itself as the source: then a connection to it never leaves this machine. Interfaces without a
 * carrier and local routes have addresses that are in no list. A datagram socket asks for the route, and sends nothing.
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
    // Without a route there is no connection, either. Node passes the error to the callback, or emits it.
    socket.once('error', () => end(false))
    socket.connect(discardPort, address, ((error?: Error) => {
      end(error == null && canonical(socket.address().address) === canonical(address))
    }) as () => void)
  })
}

const discardPort = 9

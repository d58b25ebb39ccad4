/**
 * The rules for connections to addresses that strangers name: which addresses belong to the public internet, and which
 * to this machine. For Node.
 */
import { createSocket } from 'node:dgram'
import type { LookupAddress } from 'node:dns'
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'

/** The IANA registry of special-purpose IPv4 addresses, plus the ranges for multicast and for future use. */
const specialIpv4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/**
 * Exceptions within 2000::/3, the only range that is assigned for global unicast. Teredo and 6to4 embed IPv4 addresses.
 */
const specialIpv6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const special = new BlockList()
for (const [net, prefix] of specialIpv4) special.addSubnet(net, prefix, 'ipv4')
for (const [net, prefix] of specialIpv6) special.addSubnet(net, prefix, 'ipv6')
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an address, without brackets, belongs to the public internet. Returns false for anything that is not an
 * address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4')
  // An address with a zone belongs to a link of this machine.
  if (isIP(address) !== 6 || address.includes('%')) return false
  const embedded = embeddedIpv4(address)
  if (embedded !== undefined) return !special.check(embedded, 'ipv4')
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Returns one form for every spelling of an address: that of the address that the connection finally goes to. */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const [plain = '', zone] = address.split('%')
  if (zone !== undefined) return `${new URL(`http://[${plain}]/`).hostname}%${zone}`
  return embeddedIpv4(address) ?? new URL(`http://[${address}]/`).hostname
}

/**
 * Returns the IPv4 address in one of `::ffff:0:0/96` (mapped) or `64:ff9b::/96` (NAT64), where the connection goes to
 * it.
 */
function embeddedIpv4(address: string): string | undefined {
  // Normalizes to the shortest hexadecimal form.
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [, high, low] = /^(?:::ffff|64:ff9b:):([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? []
  if (high === undefined || low === undefined) return undefined
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

/** Like `networkInterfaces` of `node:os`. */
export type Interfaces = typeof networkInterfaces

/** Whether an address belongs to this machine, according to its current interfaces and routes. */
export async function isOwnAddress(address: string, interfaces: Interfaces = networkInterfaces): Promise<boolean> {
  const wanted = canonicalAddress(address)
  const isListed = Object.values(interfaces()).some((list) =>
    list?.some((own) => canonicalAddress(own.address) === wanted),
  )
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
      end(error == null && canonicalAddress(socket.address().address) === canonicalAddress(address))
    }) as () => void)
  })
}

const discardPort = 9

/** Like `lookup` of `node:dns` with the option `all`. */
export type Resolve = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Information from the system about names and about this machine. */
export type SystemFacts = { readonly resolve: Resolve; readonly interfaces: Interfaces }

/** How the addresses of a name are checked before a connection. */
export type AddressCheck = {
  readonly resolve: Resolve
  readonly isAllowed: (address: string) => Promise<boolean>
  /** Names with more addresses are refused, because each address is checked. */
  readonly maxAddresses: number
  /** The error for a name that is refused. */
  readonly refused: (hostname: string) => Error
}

/**
 * A `lookup` for connections that requires every address of a name to be allowed, because any of them may be connected
 * to. The connection goes to the checked addresses, so a name that later resolves to another address has no effect.
 */
export function checkedLookup({ resolve, isAllowed, maxAddresses, refused }: AddressCheck): LookupFunction {
  return (hostname, options, callback) => {
    const refuse = (): void => callback(refused(hostname), '', 0)
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = addresses
      if (first === undefined || addresses.length > maxAddresses) return refuse()
      Promise.all(addresses.map(({ address }) => isAllowed(address))).then((allowed) => {
        if (allowed.includes(false)) return refuse()
        if (options.all === true) return callback(null, addresses as never, 0)
        return callback(null, first.address, first.family)
      }, refuse)
    })
  }
}

/** Whether a connection never left this machine: both of its ends have the same address. */
export function isOwnPeer({
  localAddress = '',
  remoteAddress = '',
}: Pick<Socket, 'localAddress' | 'remoteAddress'>): boolean {
  return canonicalAddress(localAddress) === canonicalAddress(remoteAddress)
}

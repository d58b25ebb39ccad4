/** The `address` setting: where to listen. */
import { isIP } from 'node:net'
import { Access } from '@latchkey/http'
import { StartError } from '../errors.js'

export type ListenAddress = { host: string; port: number; isLoopback: boolean }

export const defaultPort = 7833

/**
 * Parses `host:port`. A blank host is the loopback interface: other machines are served only if the address names an
 * interface. As in Go, the wildcard of either family listens on both.
 */
export function parse(address: string): ListenAddress {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):([0-9]{1,5})$/.exec(address)
  if (match === null) {
    const fault = /:[^\]]*$/.test(address) ? 'bad host or port' : 'missing port in address'
    throw new StartError('invalid_address', { message: `listen tcp: address ${address}: ${fault}` })
  }
  const port = Number(match[3])
  if (port > 65535) throw new StartError('invalid_address', { message: `listen tcp: address ${address}: invalid port` })
  const written = (match[1] ?? match[2] ?? '').toLowerCase()
  const host = written === '' || written === 'localhost' ? '127.0.0.1' : written === '0.0.0.0' ? '::' : written
  return { host, port, isLoopback: Access.isLoopback(host) }
}

/** As in kmd.net. */
export function format(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** The address for programs on this machine: a wildcard is replaced by the loopback interface. */
export function reachable(address: string): string {
  return address.replace(/^(?:0\.0\.0\.0|\[::\])(?=:[0-9]+$)/, '127.0.0.1')
}

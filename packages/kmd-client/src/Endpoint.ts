/** Where a daemon listens and what it asks for: given, or read from the files in its data directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KmdClientError } from './KmdClientError.js'

export type Endpoint = {
  host: string
  port: number
  /** As people write it, for messages. */
  address: string
  token: string
}

/** From `host:port` or an http URL. */
export function parse(address: string, token: string): Endpoint {
  const text = address.trim()
  const isUrl = text.includes('://')
  if (!isUrl && !/:[0-9]+$/.test(text)) throw badAddress(text)
  let url: URL
  try {
    // A host may be left out, as in a setting that says where to listen.
    url = new URL(isUrl ? text : `http://${text.startsWith(':') ? `localhost${text}` : text}`)
  } catch {
    throw badAddress(text)
  }
  const isPlain = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (url.protocol !== 'http:' || !isPlain) throw badAddress(text)
  if (!/^[\x21-\x7e\x80-\xff]+$/.test(token)) {
    throw argument('the API token is blank or holds characters that cannot be sent; it is the first line of kmd.token')
  }
  const host = reachable(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  const port = url.port === '' ? 80 : Number(url.port)
  return { host, port, address: `${host.includes(':') ? `[${host}]` : host}:${port}`, token }
}

/** From the first lines of kmd.net and kmd.token. */
export async function read(dataDir: string): Promise<Endpoint> {
  const [address, token] = await Promise.all([firstLine(dataDir, 'kmd.net'), firstLine(dataDir, 'kmd.token')])
  return parse(address, token)
}

export function isSame(a: Endpoint, b: Endpoint): boolean {
  return a.host === b.host && a.port === b.port && a.token === b.token
}

/** One listens on all interfaces, but connects to one. The IPv6 wildcard of a daemon takes IPv4 as well. */
function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

async function firstLine(dataDir: string, name: string): Promise<string> {
  let text: string
  try {
    text = await readFile(join(dataDir, name), 'latin1')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const why =
      code === 'ENOENT'
        ? `${name} is not there: no daemon runs in ${dataDir}. Start one, or check the directory`
        : `${name} in ${dataDir} cannot be read (${code}). Run as the user of the daemon`
    throw new KmdClientError(why, { operation: 'connect', reason: 'connection', cause: error })
  }
  const [line = ''] = text.split('\n', 1)
  if (line !== '') return line
  const why = `${name} in ${dataDir} is empty: the daemon is just starting, or was cut short. Try again, or restart it`
  throw new KmdClientError(why, { operation: 'connect', reason: 'connection' })
}

function badAddress(address: string): KmdClientError {
  return argument(`the address must be host:port or http://host:port, not ${JSON.stringify(address.slice(0, 100))}`)
}

function argument(message: string): KmdClientError {
  return new KmdClientError(message, { operation: 'connect', reason: 'argument' })
}

/** The URL under which a buyer's payment log records a call: server, tool and a digest of the arguments. */
import { McpError } from '../errors.js'
import { digestOf } from '../wire/boundedJson.js'

/** Keeps the URL, with the tool and the digest, within the length that a payment log records. */
const maxServerLength = 1_000

/** @throws McpError if the server name is empty or too long */
export function checkServer(server: string): void {
  if (typeof server === 'string' && server !== '' && authorityOf(server).length <= maxServerLength) return
  const message = `server cannot be ${JSON.stringify(typeof server === 'string' ? server.slice(0, 100) : server)}`
  throw new McpError('invalid_tool_option', message, { hint: 'Pass the URL of the server, or a name for it.' })
}

/** Returns `mcp://example.com/mcp/tools/forecast?arguments=...`, or `mcp://name/tools/...` for a named server. */
export function callUrl(server: string, name: string, digest: string): string {
  return new URL(`mcp://${authorityOf(server)}/tools/${plain(String(name))}?arguments=${digest}`).href
}

/** Removes the scheme of a URL and keeps its path. */
function authorityOf(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return plain(server)
  const { host, pathname, search } = url
  return `${host}${pathname.replace(/\/+$/, '')}${search === '' ? '' : `/${digestOf(search)}`}`
}

/** Returns the name unchanged if every program encodes it identically in a URL, and otherwise a digest of it. */
function plain(name: string): string {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/.test(name) ? name : digestOf(name)
}

/** The URL under which the payment log of a buyer records a call: server, tool and a digest of the arguments. */
import { McpError } from '../errors.js'
import { digestOf } from '../wire/boundedJson.js'

/** With a tool and a digest it stays within what a payment log records of a URL. */
const maxServerLength = 1_000

/** @throws McpError for a server without a name, or with too long a one */
export function checkServer(server: string): void {
  if (typeof server === 'string' && server !== '' && authorityOf(server).length <= maxServerLength) return
  const message = `server cannot be ${JSON.stringify(typeof server === 'string' ? server.slice(0, 100) : server)}`
  throw new McpError('invalid_tool_option', message, { hint: 'Pass the URL of the server, or a name for it.' })
}

/** `mcp://example.com/mcp/tools/forecast?arguments=...`; for a server with a name, `mcp://name/tools/...`. */
export function callUrl(server: string, name: string, digest: string): string {
  return new URL(`mcp://${authorityOf(server)}/tools/${plain(String(name))}?arguments=${digest}`).href
}

/** The scheme of a URL is left out, and its path is kept. */
function authorityOf(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return plain(server)
  const { host, pathname, search } = url
  return `${host}${pathname.replace(/\/+$/, '')}${search === '' ? '' : `/${digestOf(search)}`}`
}

/** A name as it is, if every program writes it in the same way in a URL; otherwise a digest of it. */
function plain(name: string): string {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/.test(name) ? name : digestOf(name)
}

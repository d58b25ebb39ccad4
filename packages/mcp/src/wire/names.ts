/** The names of the x402 transport for MCP: the `_meta` keys of payments, and the URL `mcp://tool/NAME` of a tool. */
import { McpError } from '../errors.js'

/** In a request: the payment, a `PaymentPayload`. */
export const paymentKey = 'x402/payment'
/** In a result: the receipt, a `SettlementResponse`. */
export const paymentResponseKey = 'x402/payment-response'

const prefix = 'mcp://tool/'

/**
 * The names of tools that can be sold: letters, digits, `_`, `-` and `.`, at most 128 characters, as MCP recommends.
 * Other names would need escaping in a URL and could be read in two ways. URLs resolve names that consist only of dots.
 */
const plainName = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/

/** The URL that identifies a tool in payments. */
export function toolUrl(name: string): string {
  return `${prefix}${name}`
}

/**
 * The URL that identifies a tool of a server with a public address: the fragment is the name of the tool.
 *
 * @throws McpError if the address is not an http or https URL without a fragment
 */
export function serverToolUrl(server: string, name: string): string {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.hash === '' && url.search === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return `${url.href}#${name}`
  const hint = 'Pass the public address of the MCP server, such as "https://example.com/mcp".'
  throw new McpError('invalid_tool_option', `url cannot be ${JSON.stringify(server)}`, { hint })
}

/** @throws McpError if the name cannot be part of a URL unchanged */
export function checkToolName(name: string): void {
  if (typeof name === 'string' && plainName.test(name)) return
  const hint = 'Use at most 128 letters, digits, "_", "-" and ".".'
  throw new McpError('invalid_tool_option', `${JSON.stringify(name)} is not a valid name for a paid tool`, { hint })
}

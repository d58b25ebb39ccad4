/** How tools are named in payments: `mcp://tool/NAME`, as the x402 transport for MCP has it. */
import { McpError } from '../errors.js'

const prefix = 'mcp://tool/'

/**
 * The names of tools that can be sold: letters, digits, `_`, `-` and `.`, at most 128, as MCP recommends. Others would have to be
 * escaped in a URL, and could be read in two ways. A URL resolves names of dots alone.
 */
const plainName = /^(?!\.+$)[A-Za-z0-9_.-]{1,128}$/

/** The URL by which payments name a tool. */
export function toolUrl(name: string): string {
  return `${prefix}${name}`
}

/** @throws McpError for a name that cannot be part of a URL as it is */
export function checkToolName(name: string): void {
  if (typeof name === 'string' && plainName.test(name)) return
  const hint = 'Use letters, digits, "_", "-" and ".", at most 128 of them.'
  throw new McpError('invalid_tool_option', `a tool that is sold cannot be called ${JSON.stringify(name)}`, { hint })
}

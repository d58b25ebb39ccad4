import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'

/** What a client of the newest protocol says with every request. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/** Whether the client can ask its user by a form. Of a client that has not said so, it cannot. */
export function canElicit({ server }: McpServer, { mcpReq }: ServerContext): boolean {
  const { elicitation } =
    (mcpReq.envelope as Envelope | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}
  if (elicitation === undefined) return false
  // Without a mode it is the form, which was the only one.
  return elicitation.form !== undefined || Object.keys(elicitation).length === 0
}

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'

/** The capabilities that a client of the newest protocol sends with every request. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/** Whether the client can ask its user with a form. False for a client that has not declared it. */
export function canElicit({ server }: McpServer, { mcpReq }: ServerContext): boolean {
  const { elicitation } =
    (mcpReq.envelope as Envelope | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}
  if (elicitation === undefined) return false
  // Without a mode the capability means forms, which used to be the only mode.
  return elicitation.form !== undefined || Object.keys(elicitation).length === 0
}

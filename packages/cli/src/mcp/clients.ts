/** Programs that start MCP servers, and the location of their settings. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

export type ServerEntry = { readonly command: string; readonly args: readonly string[] }

export type McpClient = {
  readonly title: string
  /** The client's settings file for MCP servers. */
  readonly path: () => string
  /** The member that contains the servers by name. */
  readonly member: 'mcpServers' | 'servers'
  /** Whether an entry states how the server is reached. */
  readonly hasType: boolean
}

/** By the value of the option --client. */
export const clients = {
  'claude-desktop': {
    title: 'Claude Desktop',
    path: () => join(applicationDirectory('Claude'), 'claude_desktop_config.json'),
    member: 'mcpServers',
    hasType: false,
  },
  'claude-code': {
    title: 'Claude Code, for the project in this directory',
    path: () => resolve('.mcp.json'),
    member: 'mcpServers',
    hasType: true,
  },
  cursor: {
    title: 'Cursor',
    path: () => join(homedir(), '.cursor', 'mcp.json'),
    member: 'mcpServers',
    hasType: false,
  },
  vscode: {
    title: 'VS Code, for the workspace in this directory',
    path: () => resolve('.vscode', 'mcp.json'),
    member: 'servers',
    hasType: true,
  },
  windsurf: {
    title: 'Windsurf',
    path: () => join(homedir(), '.codeium', 'windsurf', 'mcp_config.json'),
    member: 'mcpServers',
    hasType: false,
  },
  gemini: {
    title: 'Gemini CLI',
    path: () => join(homedir(), '.gemini', 'settings.json'),
    member: 'mcpServers',
    hasType: false,
  },
} as const satisfies { readonly [name: string]: McpClient }

export type ClientName = keyof typeof clients

export const clientNames = Object.keys(clients) as ClientName[]

/** The directory in which desktop applications keep their settings. */
function applicationDirectory(name: string): string {
  const { APPDATA: roaming = '', XDG_CONFIG_HOME: config = '' } = process.env
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', name)
  if (process.platform === 'win32' && roaming !== '') return join(roaming, name)
  return join(config === '' ? join(homedir(), '.config') : config, name)
}

/** The entry of a server, in the format of the client. */
export function entryFor({ hasType }: McpClient, { command, args }: ServerEntry): { [name: string]: unknown } {
  return { ...(hasType && { type: 'stdio' }), command, args }
}

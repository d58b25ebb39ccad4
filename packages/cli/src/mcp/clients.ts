/** Programs that start MCP servers, and the location of their settings. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

export type ServerEntry = { readonly command: string; readonly args: readonly string[] }

export type McpClient = {
  readonly title: string
  /** The client's settings file for MCP servers. */
  readonly path: () => string
  /** The member that contains the servers by name. */
  readonly member: 'mcpServers' | 'servers' | 'context_servers' | 'mcp_servers'
  /** Whether an entry states how the server is reached. */
  readonly hasType: boolean
  /** @default json */
  readonly format?: 'json' | 'toml'
  /** Members that the client expects in every entry. */
  readonly more?: { readonly [name: string]: unknown }
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
  codex: {
    title: 'Codex',
    path: () => join(process.env['CODEX_HOME'] || join(homedir(), '.codex'), 'config.toml'),
    member: 'mcp_servers',
    hasType: false,
    format: 'toml',
  },
  zed: {
    title: 'Zed',
    path: () => join(zedDirectory(), 'settings.json'),
    member: 'context_servers',
    hasType: false,
    more: { source: 'custom', env: {} },
  },
  cline: {
    title: 'Cline, in VS Code',
    path: () =>
      join(
        applicationDirectory('Code'),
        ...['User', 'globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'],
      ),
    member: 'mcpServers',
    hasType: false,
    more: { disabled: false },
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

/** Zed keeps its settings in ~/.config, on macOS too. */
function zedDirectory(): string {
  const { APPDATA: roaming = '', XDG_CONFIG_HOME: config = '' } = process.env
  if (process.platform === 'win32' && roaming !== '') return join(roaming, 'Zed')
  const isXdg = process.platform !== 'darwin' && config !== ''
  return join(isXdg ? config : join(homedir(), '.config'), 'zed')
}

/** The entry of a server, with the members that the client expects. */
export function entryFor({ hasType, more }: McpClient, { command, args }: ServerEntry): { [name: string]: unknown } {
  return { ...(hasType && { type: 'stdio' }), command, args, ...more }
}

/** The settings as text of the client's format, with this server only. */
export function settingsText({ member, format }: McpClient, name: string, entry: ServerEntry): string {
  if (format === 'toml') return tomlTable(member, name, entry)
  return `${JSON.stringify({ [member]: { [name]: entry } }, undefined, 2)}\n`
}

/** A table of TOML. Its basic strings have the escapes of JSON, except that U+007F must be escaped too. */
export function tomlTable(member: string, name: string, { command, args }: ServerEntry): string {
  const text = (value: string): string => JSON.stringify(value).replaceAll('\u007f', '\\u007f')
  return `[${member}.${name}]\ncommand = ${text(command)}\nargs = [${args.map(text).join(', ')}]\n`
}

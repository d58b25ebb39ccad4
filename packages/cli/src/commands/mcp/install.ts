/** `latchkey mcp install`: prints or writes the settings with which a client starts the MCP server. */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { agentTokenFrom } from '../../agentToken.js'
import { command, jsonOption } from '../../Command.js'
import { UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import {
  type ClientName,
  clientNames,
  clients,
  entryFor,
  type McpClient,
  type ServerEntry,
  settingsText,
  tomlTable,
} from '../../mcp/clients.js'
import { type WalletServerValues, walletServerOptions } from '../../mcp/options.js'
import { addServer, addTable, type Written } from '../../mcp/SettingsFile.js'
import { printJson, printMessage, printResult } from '../../messages.js'

export const mcpInstallCommand = command({
  description: `Print the settings with which a client starts latchkey mcp, or add them to the client's settings with --write. The token stays in its file: \
neither the settings nor the arguments contain it. The client's other settings stay unchanged, and a copy of the old file is kept.`,
  options: {
    client: {
      type: 'string',
      placeholder: 'CLIENT',
      suggestions: clientNames,
      description: `${clientNames.join(', ')} (claude-desktop)`,
    },
    write: { type: 'boolean', description: 'add the settings to those of the client' },
    replace: { type: 'boolean', description: 'replace another server of the same name' },
    name: { type: 'string', placeholder: 'NAME', description: 'name of the server in the settings (latchkey)' },
    ...walletServerOptions,
    ...jsonOption,
  },
  notes: 'The wallet options are passed to latchkey mcp as arguments. Restart the client afterwards.',
  examples: [
    'latchkey mcp install --token-file ~/.latchkey/shopper.token --network testnet',
    'latchkey mcp install --client claude-code --token-file shopper.token --write',
  ],
  run: async ({ options }) => {
    const clientName = readClient(options.client ?? 'claude-desktop')
    const client: McpClient = clients[clientName]
    const name = options.name ?? 'latchkey'
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      throw new UsageError('--name takes letters, digits, _ and -', { code: 'invalid_value' })
    }
    const server = serverOf(options)
    const entry = entryFor(client, server)
    const path = client.path()
    const settings = { [client.member]: { [name]: entry } }
    if (options.write !== true) {
      if (options.json) printJson({ client: clientName, path, settings, written: false })
      else printResult(settingsText(client, name, { ...server, ...entry }))
      if (!options.json) printMessage(`Add this to ${path} (${client.title}), or run the command with --write`)
      return exitCodes.ok
    }
    const { isChanged, backup } = write({ client, path, name, server, mayReplace: options.replace === true })
    if (options.json) printJson({ client: clientName, path, settings, written: isChanged, backup: backup ?? null })
    else printMessage(isChanged ? `Added to ${path}; restart ${client.title}` : `${path} already has these settings`)
    if (!options.json && backup !== undefined) printMessage(`The previous settings are in ${backup}`)
    return exitCodes.ok
  },
})

type Settings = {
  readonly client: McpClient
  readonly path: string
  readonly name: string
  readonly server: ServerEntry
  readonly mayReplace: boolean
}

function write({ client, path, name, server, mayReplace }: Settings): Written {
  const { member, format } = client
  if (format !== 'toml') return addServer({ path, member, name, entry: entryFor(client, server), mayReplace })
  return addTable({ path, header: `[${member}.${name}]`, table: tomlTable(member, name, server) })
}

function readClient(name: string): ClientName {
  const found = clientNames.find((one) => one === name)
  if (found !== undefined) return found
  throw new UsageError(`--client takes ${clientNames.join(', ')}`, { code: 'invalid_value' })
}

/**
 * The command with which the client starts the server. Paths are absolute, because the client may run in any directory
 * and without the PATH of a shell.
 */
function serverOf(options: WalletServerValues): ServerEntry {
  const { 'token-file': tokenFile, 'data-dir': dataDir, log } = options
  if (tokenFile === undefined)
    throw new UsageError('--token-file is missing', { hint: "the client's settings name this file" })
  // Checked now, because a client that starts the server later shows no message.
  agentTokenFrom(tokenFile, {})
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ['--token-file', resolve(tokenFile)],
    ['--data-dir', dataDir === undefined ? undefined : resolve(dataDir)],
    ['--daemon', options.daemon],
    ['--key', options.key],
    ['--network', options.network],
    ...(options.node ?? []).map((node) => ['--node', node] as const),
    ['--dollar', options.dollar],
    ['--max', options.max],
    ...(options.facilitator ?? []).map((url) => ['--facilitator', url] as const),
    ...(options['allow-host'] ?? []).map((host) => ['--allow-host', host] as const),
    ['--log', log === undefined ? undefined : resolve(log)],
  ]
  const given = pairs.flatMap(([option, value]) => (value === undefined ? [] : [option, value]))
  const flags = options['allow-private'] === true ? ['--allow-private'] : []
  return { command: process.execPath, args: [realpathSync(process.argv[1]!), 'mcp', ...given, ...flags] }
}

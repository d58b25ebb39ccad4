/** Runs the commands of the MCP server with daemons, nodes, files and settings that try to take over the terminal. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostile } from './hostile.test.helper.js'
import type { Run, Table } from './hostileDirectories.test.helper.js'

export type McpParts = {
  /** Returns a file with the token of a new agent. */
  readonly tokenFile: () => Promise<string>
  readonly file: (name: string, content: string) => string
  readonly hostileDirectory: () => string
  readonly chain: () => readonly string[]
  readonly refusing: () => string
  readonly dataDirs: () => {
    readonly honest: string
    readonly shown: string
    readonly all: string
    readonly errors: string
  }
}

const ready = 'waiting for a client on stdin'

export function mcpCommands(parts: McpParts): Table {
  const { tokenFile, file, hostileDirectory, chain, refusing } = parts
  return {
    mcp: async () => {
      const { honest, shown, all, errors } = parts.dataDirs()
      const own = ['mcp', '--token-file', await tokenFile()]
      const base = [...own, ...chain()]
      const failing: string[][] = [
        ['-d', shown],
        ['-d', all],
        ['-d', errors],
        ['-d', `/nonexistent/${hostile}`],
        ['--daemon', hostile],
        ['-d', honest, '--key', hostile],
        ['-d', honest, '--max', hostile],
        ['-d', honest, '--http', hostile],
        ['-d', honest, '--log', file('mcp.jsonl', `${hostile}\n`)],
        ['-d', honest, '--http', '0', '--http-token-file', file('http.token', hostile)],
      ]
      return [
        { args: [...base, '-d', honest], ready },
        { args: [...base, '-d', honest, '--http', '0', '--json'], ready: '"pid":' },
        ...failing.map((args): Run => ({ args: [...base, ...args] })),
        { args: [...own, '-d', honest, '--network', 'local', '--node', refusing()] },
        { args: ['mcp', '--token-file', file('hostile.token', hostile)] },
        { args: ['mcp', '--token-file', `/nonexistent/${hostile}`] },
        { args: ['mcp'], env: { LATCHKEY_AGENT_TOKEN: hostile } },
      ]
    },
    'mcp install': async () => {
      const install = ['mcp', 'install', '--token-file', await tokenFile()]
      const home = hostileDirectory()
      mkdirSync(join(home, '.cursor'))
      writeFileSync(join(home, '.cursor', 'mcp.json'), `{"${hostile}": ${hostile}`)
      return [
        { args: [...install, '--allow-host', hostile, '--log', `/${hostile}`] },
        { args: [...install, '--allow-host', hostile, '--json'] },
        { args: [...install, '--client', 'cursor', '--write'], env: { HOME: home } },
        { args: [...install, '--client', 'windsurf', '--write'], env: { HOME: hostileDirectory() } },
        { args: [...install, '--client', hostile] },
        { args: [...install, '--name', hostile] },
        { args: ['mcp', 'install', '--token-file', `/nonexistent/${hostile}`] },
      ]
    },
  }
}

import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { AgentWallet } from '@latchkey/mcp/wallet'
import { FilePayments } from '@latchkey/x402/file'
import { agentTokenFrom, connectAgent, explainAgentError, tokenVariable } from '../agentToken.js'
import { openChain } from '../chain.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'
import type { WalletServerValues } from './options.js'

/** Opens the wallet of the agent whose token is given. */
export async function openWallet(options: WalletServerValues): Promise<{ wallet: AgentWallet; name: string }> {
  const token = agentTokenFrom(options['token-file'], process.env)
  if (token === undefined) {
    throw new UsageError("no agent's token was given", { hint: `give --token-file PATH, or set ${tokenVariable}` })
  }
  // Child processes and dumps of the environment do not need the token.
  delete process.env[tokenVariable]
  const agent = await connectAgent(options, token)
  try {
    const chain = await openChain(options, process.env)
    const { id, name } = (await agent.self()).agent
    const payments = new FilePayments(options.log ?? defaultLog(id))
    const wallet = await AgentWallet.open({
      agent,
      chain,
      payments,
      address: options.key,
      maxPerPayment: options.max,
      facilitators: facilitatorsFrom(options.facilitator),
      allowHosts: options['allow-host'],
      allowPrivate: options['allow-private'],
    })
    return { wallet, name }
  } catch (error) {
    agent.close()
    throw explainAgentError(error, options)
  }
}

/** Given by option only: a catalogue in the environment would add a tool that its owner did not ask for. */
function facilitatorsFrom(urls: readonly string[] = []): readonly string[] {
  const wrong = urls.find((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
  if (wrong === undefined) return urls
  throw new UsageError(`--facilitator cannot be ${quoted(wrong)}`, { code: 'invalid_value' })
}

/** One log per agent, because payments of one agent do not belong to another. */
function defaultLog(agentId: string): string {
  const directory = mcpDirectory()
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    const message = `${quoted(directory)} cannot be written: ${(error as Error).message}`
    throw new CommandError('file_unwritable', message, {
      hint: 'give a file with --log, or correct HOME',
      cause: error,
    })
  }
  return join(directory, `${agentId.replaceAll(/[^A-Za-z0-9_-]/g, '_')}.jsonl`)
}

/** The directory in which MCP servers of this user keep their files. */
export function mcpDirectory(): string {
  return join(homedir(), '.latchkey', 'mcp')
}

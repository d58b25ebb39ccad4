/** The token of an agent, given to commands in a file or in the environment, never as an argument. */
import { readFileSync, statSync } from 'node:fs'
import { type AgentClient, Kmd, KmdClientError } from '@latchkey/kmd-client'
import { fromAgent, type Signer } from '@latchkey/x402/client'
import type { Option } from './Command.js'
import { dataDirectory, explainDaemonError } from './daemon.js'
import { CommandError, UsageError } from './errors.js'
import { quoted } from './format.js'
import { printMessage, printWarning } from './messages.js'

type Environment = { readonly [name: string]: string | undefined }

export const tokenVariable = 'LATCHKEY_AGENT_TOKEN'

const tokenFile = {
  type: 'string',
  placeholder: 'PATH',
  completes: 'file',
  description: `file with an agent's token, from latchkey agent new (or ${tokenVariable})`,
} as const satisfies Option

export const daemonOption = {
  daemon: {
    type: 'string',
    placeholder: 'ADDRESS',
    description: 'host:port or unix:/path of the key daemon, for users that cannot read its data directory',
  },
} as const satisfies { [name: string]: Option }

/** For a command that accepts other keys too. */
export const agentOptions = { 'agent-token-file': tokenFile, ...daemonOption } as const

/** For a command that works only with an agent's token. */
export const ownAgentOptions = {
  'token-file': { ...tokenFile, aliases: ['agent-token-file'] },
  ...daemonOption,
} as const

/** Long enough for any token with line breaks. */
const maxFileBytes = 4_096
const pattern = /^lka_[A-Za-z0-9_-]{60}$/

/**
 * Returns the token in the file or in the environment, or undefined if there is neither.
 *
 * @throws CommandError if there is another value, such as the owner's token
 */
export function agentTokenFrom(path: string | undefined, environment: Environment): string | undefined {
  const isFile = path !== undefined
  const text = isFile ? readFile(path) : (environment[tokenVariable] ?? '').trim()
  if (text === '' && !isFile) return undefined
  const where = isFile ? quoted(path) : tokenVariable
  if (pattern.test(text)) return text
  if (/^[0-9a-f]{64}$/i.test(text)) {
    throw new CommandError(
      'agent_token_required',
      `${where} contains the owner's API token, which agents must not have`,
      {
        hint: "give an agent's token, which begins with lka_; create one with latchkey agent new",
      },
    )
  }
  throw new CommandError('agent_token_required', `${where} contains no agent's token, which begins with lka_`, {
    hint: 'create one with latchkey agent new NAME --token-file PATH',
  })
}

function readFile(path: string): string {
  try {
    const { mode, size } = statSync(path)
    if (size > maxFileBytes) throw new Error('the file is too long for a token')
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      printWarning(`other users can read ${quoted(path)}; run chmod 600 on it`)
    }
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new CommandError('file_unreadable', `${quoted(path)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

export type AgentAddress = { readonly 'data-dir'?: string | undefined; readonly daemon?: string | undefined }

/** The location of the agent's daemon. */
function endpointOf(given: AgentAddress): { address: string } | { dataDir: string } {
  if (given.daemon !== undefined && given['data-dir'] !== undefined) {
    throw new UsageError('give only one of --daemon and --data-dir')
  }
  return given.daemon === undefined ? { dataDir: dataDirectory(given['data-dir']) } : { address: given.daemon }
}

/** Connects and asks the daemon for the agent, so that a wrong token is detected immediately. */
export async function connectAgent(given: AgentAddress, token: string): Promise<AgentClient> {
  const endpoint = endpointOf(given)
  try {
    const agent = await Kmd.asAgent({ ...endpoint, token })
    await agent.self()
    return agent
  } catch (error) {
    throw explainAgentError(error, given)
  }
}

/** The messages are whole sentences, and the hints of the daemon are for programs. */
const hints: { readonly [code: string]: string } = {
  agent_limit_exceeded: 'The owner can raise the limit: latchkey agent limit NAME --limit LIMIT',
  agent_payee_unknown: 'The owner can add the address: latchkey agent limit NAME --pay-to ADDRESS',
  agent_asset_without_limit: 'The owner can add a limit: latchkey agent limit NAME --limit LIMIT',
  agent_approval_required: 'The owner can decide: latchkey approvals list',
  agent_approval_denied:
    'Nothing was paid. The same request is refused for ten minutes; then the owner can be asked again.',
}

/** Converts an error of the daemon to one of the command. */
export function explainAgentError(error: unknown, given: AgentAddress): unknown {
  if (!(error instanceof KmdClientError)) return error
  const { code, message } = error
  if (code === 'invalid_token') {
    return new CommandError('agent_token_required', "the daemon does not accept this agent's token", {
      hint: 'it may have been replaced; ask the owner for a new one (latchkey agent rotate NAME)',
      cause: error,
    })
  }
  if (code.startsWith('agent_') || code === 'invalid_argument') {
    return new CommandError('agent_refused', message, { hint: hints[code] ?? error.hint, cause: error })
  }
  return explainDaemonError(error, given.daemon ?? dataDirectory(given['data-dir']))
}

const approvalWaitMs = 24 * 60 * 60 * 1000

/** Returns a signer with the agent's token that waits for approvals, or undefined if no token is given. */
export async function agentSignerFrom(
  given: AgentAddress & { readonly 'agent-token-file'?: string | undefined; readonly key?: string | undefined },
  environment: Environment,
): Promise<Signer.Signer | undefined> {
  const token = agentTokenFrom(given['agent-token-file'], environment)
  if (token === undefined) return undefined
  const agent = await connectAgent(given, token)
  const onApproval = (id: string): void =>
    printMessage(`waiting for the owner, who can run: latchkey approvals approve ${id}`)
  const signer = await fromAgent({ agent, address: given.key, approvalWaitMs, onApproval })
  const explaining = async <T>(work: () => T): Promise<Awaited<T>> => {
    try {
      return await work()
    } catch (error) {
      throw explainAgentError(error, given)
    }
  }
  return {
    ...signer,
    sign: (transaction, purpose) => explaining(() => signer.sign(transaction, purpose)),
    signUpto: (authorization, purpose) => explaining(() => signer.signUpto!(authorization, purpose)),
  }
}

/** Operations that the reference does not have, on separate paths so that its clients are not affected. */
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import type { Shape } from '../wire/Wire.js'
import type { Context } from './Context.js'
import { endAgentsOfWallet } from './endAgents.js'
import { ascii, define, password, text } from './Operation.js'

export const extraPrefix = '/latchkey/v1'
export const metricsPath = `${extraPrefix}/metrics`

const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const

const walletProblem = {
  type: 'object',
  name: 'WalletProblem',
  members: [
    { name: 'file', shape: { type: 'string' } },
    { name: 'problem', shape: { type: 'string' } },
  ],
} as const satisfies Shape
/** Keeps the response short, regardless of the directory's content. */
const maxProblems = 100

/** The names of agents that have not ended. */
function sameUserAgents({ agents, agentPresence }: Pick<Context, 'agents' | 'agentPresence'>): string[] {
  const ids = new Set(agentPresence.sameUserAgents())
  if (ids.size === 0) return []
  return agents.live.flatMap(({ agent }) => (ids.has(agent.id) ? agent.name : [])).slice(0, maxProblems)
}

/**
 * Empty if the state database cannot be opened, for example on a full disk. No agent signs then, and the health check
 * must still work.
 */
function suspendedAgents({ agents }: Pick<Context, 'agents'>): string[] {
  try {
    const suspended = agents.live.filter(({ agent }) => agent.suspendedReason !== undefined)
    return suspended.slice(0, maxProblems).map(({ agent }) => agent.name)
  } catch (error) {
    if (!(error instanceof KmdError)) throw error
    return []
  }
}

export const extraOperations = [
  define({
    id: 'GetHealth',
    method: 'GET',
    path: `${extraPrefix}/health`,
    about:
      'Tells that the daemon runs and can read its wallets directory, and which files in it are refused or damaged.',
    request: [],
    response: [
      { name: 'status', shape: { type: 'string' } },
      { name: 'version', shape: { type: 'string' } },
      { name: 'uptime_seconds', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallets', shape: { type: 'uint', format: 'int64' } },
      { name: 'open_handles', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallet_problems', shape: { type: 'list', of: walletProblem }, about: 'The first 100' },
      {
        name: 'lost_log_lines',
        shape: { type: 'uint', format: 'int64' },
        about: 'Lines that kmd.log did not take since the start: the disk is full, or was',
      },
      {
        name: 'same_user_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about:
          'Names of agents that ran as the user of the daemon, or as root, since its start: no limit holds for them',
      },
      {
        name: 'suspended_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about:
          'Names of agents that sign nothing until the owner confirms them: the state database was rolled back or damaged',
      },
    ],
    responseName: 'HealthResponse',
    errors: ['wallets_directory'],
    run: async (context: Context) => {
      const { wallets, handles, startedAtMs, version, lostLogLines } = context
      return {
        status: 'ok',
        version,
        uptime_seconds: Math.floor((Date.now() - startedAtMs) / 1000),
        wallets: (await wallets.list()).length,
        open_handles: handles.size,
        wallet_problems: wallets.problems().slice(0, maxProblems),
        lost_log_lines: lostLogLines(),
        same_user_agents: sameUserAgents(context),
        suspended_agents: suspendedAgents(context),
      }
    },
  }),
  define({
    id: 'ChangeWalletPassword',
    method: 'POST',
    path: `${extraPrefix}/wallet/password`,
    once: true,
    about: 'Changes the password of a wallet. Its open handles end.',
    request: [
      walletId,
      password,
      { name: 'new_wallet_password', kind: text, about: 'The new password; absent is the blank password' },
    ],
    response: [],
    responseName: 'ChangeWalletPasswordResponse',
    walletFailure: 400,
    run: async ({ wallets, handles }, input) => {
      const entry = await wallets.find(input.wallet_id)
      const newPassword = input.new_wallet_password
      const onChange = (): void => handles.releaseWallet(entry.id)
      try {
        await wallets.changePassword(entry, { password: input.wallet_password, newPassword, onChange })
      } finally {
        Secret.wipe(newPassword)
      }
      return {}
    },
  }),
  define({
    id: 'DeleteWallet',
    method: 'POST',
    path: `${extraPrefix}/wallet/delete`,
    once: true,
    about: 'Takes a wallet out of the daemon. Its file is kept under another name: rename it back to undo this.',
    request: [walletId, password],
    response: [{ name: 'moved_to', shape: { type: 'string' } }],
    responseName: 'DeleteWalletResponse',
    walletFailure: 400,
    run: async (context, input) => {
      const { wallets, handles } = context
      const entry = await wallets.find(input.wallet_id)
      const onRemove = (): void => handles.releaseWallet(entry.id)
      const beforeRemove = <T>(remove: () => Promise<T>): Promise<T> => endAgentsOfWallet(context, entry.key, remove)
      const removal = wallets.remove(entry, input.wallet_password, { onRemove, beforeRemove })
      const movedTo = await removal.catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).syscall !== 'rename') throw error
        throw new KmdError('database', { message: `the wallet file could not be moved aside: ${String(error)}` })
      })
      return { moved_to: movedTo }
    },
  }),
]

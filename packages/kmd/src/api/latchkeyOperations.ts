/** Operations that the reference does not have, on separate paths so that its clients are not affected. */

import { basename } from 'node:path'
import { byId, byIdAndName } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import type { Context } from './Context.js'
import { endAgentsOfWallet } from './endAgents.js'
import type { Implementations } from './Implementation.js'

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

export const extraOperations = {
  GetHealth: {
    run: async (context) => {
      const { wallets, handles, startedAtMs, version, lostLogLines, command } = context
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
        command,
      }
    },
  },
  ChangeWalletPassword: {
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
    record: { subject: byId },
  },
  DeleteWallet: {
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
    record: {
      subject: byIdAndName,
      result: (_input, output) => ({ detail: { moved_to: basename(output.moved_to) } }),
    },
  },
} satisfies Partial<Implementations>

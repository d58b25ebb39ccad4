/**
 * Ends the agents that depend on a deleted key or wallet. The agents end first, and durably, so that none can sign with
 * a key after it is gone. If the deletion then fails, the agents have still ended, and the error states this: ending
 * too many agents costs the owner a command, ending too few could cost money.
 */
import type { Agent } from '../agents/Agent.js'
import { KmdError } from '../errors.js'
import type { Context } from './Context.js'

export function endAgentsOfKey(
  context: Context,
  walletId: string,
  address: string,
  deleteKey: () => Promise<void>,
): Promise<void> {
  const isConcerned = (agent: { addresses: readonly string[] }): boolean => agent.addresses.includes(address)
  return endAgents(context, walletId, {
    isConcerned,
    end: () => context.agents.keyDeleted(walletId, address),
    work: deleteKey,
  })
}

export function endAgentsOfWallet<T>(context: Context, walletId: string, remove: () => Promise<T>): Promise<T> {
  return endAgents(context, walletId, {
    isConcerned: () => true,
    end: () => context.agents.walletDeleted(walletId),
    work: remove,
  })
}

type Ending<T> = {
  isConcerned: (agent: { addresses: readonly string[] }) => boolean
  end: () => Promise<void>
  work: () => Promise<T>
}

function endAgents<T>({ agents, agentHandles, walletTurns }: Context, walletId: string, ending: Ending<T>) {
  return walletTurns.run(walletId, async () => {
    const concerned = agents
      .list()
      .filter((agent) => isAlive(agent) && agent.walletId === walletId && ending.isConcerned(agent))
    if (concerned.length === 0) return ending.work()
    await ending.end()
    for (const { id } of concerned) agentHandles.releaseAgent(id)
    try {
      return await ending.work()
    } catch (error) {
      throw explain(error, concerned)
    }
  })
}

function isAlive({ state }: Agent): boolean {
  return state === 'active' || state === 'paused' || state === 'suspended'
}

function explain(error: unknown, ended: readonly { name: string }[]): unknown {
  if (!(error instanceof KmdError)) return error
  const names = ended
    .slice(0, 5)
    .map(({ name }) => name)
    .join(', ')
  const message = `${error.message}. Nothing was deleted, but its agents have ended: ${names}${ended.length > 5 ? ', ...' : ''}`
  return new KmdError(error.code, { message, headers: error.headers, cause: error })
}

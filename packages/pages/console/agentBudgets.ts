/** Loads agents with what is left of their limits. */
import { agentOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import type { Daemon } from './daemon.js'
import { errorMessage } from './messages.js'
import { hasEnded } from './model/agentWords.js'
import { type IsCurrent, usePolling } from './polling.js'
import type { Agent, AgentLimitUse } from './responseTypes.js'
import { useStore } from './store.js'

export type AgentBudget = { agent: Agent; budget: readonly AgentLimitUse[] }

/**
 * Returns all agents, the first `maxBudgets` of those that have not ended with their budgets: the daemon computes the
 * totals of each. An agent that ended after the list was loaded no longer has a budget.
 */
async function loadAgentBudgets(daemon: Daemon, maxBudgets: number): Promise<AgentBudget[]> {
  const { agents } = await daemon.call(agentOperations.ListAgents)
  const live = agents.filter((agent) => !hasEnded(agent)).slice(0, maxBudgets)
  const shown = await Promise.all(
    live.map(({ id }) => daemon.call(agentOperations.ShowAgent, { agent: id }).catch(() => undefined)),
  )
  const budgets = new Map(shown.flatMap((one) => (one === undefined ? [] : [[one.agent.id, one.budget] as const])))
  return agents.map((agent) => ({ agent, budget: budgets.get(agent.id) ?? [] }))
}

type AgentBudgets = {
  /** Undefined until they are loaded. */
  agents: readonly AgentBudget[] | undefined
  error: string | undefined
  reload: () => Promise<void>
}

/** Loads all agents again at an interval, the first `maxBudgets` of those that have not ended with their budgets. */
export function useAgentBudgets(maxBudgets: number, everyMs: number): AgentBudgets {
  const store = useStore()
  const [agents, setAgents] = useState<readonly AgentBudget[]>()
  const [error, setError] = useState<string>()
  const load = async (isCurrent: IsCurrent): Promise<void> => {
    try {
      const loaded = await loadAgentBudgets(store.daemon, maxBudgets)
      if (!isCurrent()) return
      setAgents(loaded)
      setError(undefined)
    } catch (caught) {
      if (isCurrent()) setError(errorMessage(caught))
    }
  }
  usePolling(load, everyMs, [store])
  return { agents, error, reload: () => load(() => true) }
}

/** Loads agents with what is left of their limits. */
import { agentOperations } from '@latchkey/kmd-api/operations'
import type { Daemon } from './daemon.js'
import { hasEnded } from './model/agentWords.js'
import type { Agent, AgentLimitUse } from './responseTypes.js'

export type AgentBudget = { agent: Agent; budget: readonly AgentLimitUse[] }

/**
 * Returns all agents, the first `maxBudgets` of those that have not ended with their budgets: the daemon computes the
 * totals of each. An agent that ended after the list was loaded no longer has a budget.
 */
export async function loadAgentBudgets(daemon: Daemon, maxBudgets: number): Promise<AgentBudget[]> {
  const { agents } = await daemon.call(agentOperations.ListAgents)
  const live = agents.filter((agent) => !hasEnded(agent)).slice(0, maxBudgets)
  const shown = await Promise.all(
    live.map(({ id }) => daemon.call(agentOperations.ShowAgent, { agent: id }).catch(() => undefined)),
  )
  const budgets = new Map(shown.flatMap((one) => (one === undefined ? [] : [[one.agent.id, one.budget] as const])))
  return agents.map((agent) => ({ agent, budget: budgets.get(agent.id) ?? [] }))
}

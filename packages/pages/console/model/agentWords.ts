/** Describes agents in plain language: their state, and what their rules allow. */
import { describeRules, type RuleGroup } from '@latchkey/kmd-api/rules'
import type { Agent } from '../responseTypes.js'
import { agentNetwork, type DollarSource, dollarsOf } from './agentNetwork.js'
import { formatDate } from './time.js'

const stateNames: { readonly [state in Agent['state']]: string } = {
  active: 'active',
  paused: 'paused',
  suspended: 'suspended',
  revoked: 'revoked',
  expired: 'ended on its date',
  key_deleted: 'ended: its key was deleted',
  wallet_deleted: 'ended: its wallet was deleted',
}

export function stateName(state: Agent['state']): string {
  return stateNames[state]
}

/** Whether the agent has ended permanently. */
export function hasEnded({ state }: Pick<Agent, 'state'>): boolean {
  return state !== 'active' && state !== 'paused' && state !== 'suspended'
}

/** Describes the rules and the end of an agent, the most important first. */
export function ruleGroups(
  { rules, expiresAtMs }: Pick<Agent, 'rules' | 'expiresAtMs'>,
  { node }: DollarSource,
): RuleGroup[] {
  const networkName = (network: string): string => agentNetwork(network, { node }).title
  const end = expiresAtMs === 0 ? 'Has no end date.' : `Ends on ${formatDate(expiresAtMs)}.`
  const groups = describeRules(rules, { networkName, dollars: dollarsOf({ node }) })
  return groups.map((group, index) =>
    index < groups.length - 1 ? group : { title: group.title, lines: [...group.lines, end] },
  )
}

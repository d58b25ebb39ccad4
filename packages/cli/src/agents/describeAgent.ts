/** Describes agents for people and for programs. */
import { Readable } from '@latchkey/algorand'
import { describeRules, formatQuantity, type Rules } from '@latchkey/kmd-api/rules'
import type { Agent, AgentLimitUse } from '@latchkey/kmd-client'
import { printable, quoted, timeText } from '../format.js'
import { networkName } from './ruleNetwork.js'

/** Returns the lines of one agent with its remaining budget. */
export function describeAgent(agent: Agent, budget: readonly AgentLimitUse[]): string {
  const { name, id, walletName, addresses, rules } = agent
  const lines = [
    `${quoted(name)}  ${stateText(agent)}  id ${printable(id)}`,
    `  wallet ${quoted(walletName)}, ${addresses.length === 1 ? 'key' : 'keys'} ${printable(addresses.join(', '))}`,
    ...budget.map((use) => `  ${limitLine(use, rules)}`),
    ...ruleLines(rules).map((line) => `  ${line}`),
    `  last used: ${agent.lastUsedAtMs === undefined ? 'never' : Readable.time(agent.lastUsedAtMs)}`,
  ]
  if (agent.suspendedReason !== undefined) {
    lines.push(
      `  Suspended: the audit log was altered: ${printable(agent.suspendedReason)}. The recorded spending may lack payments. To let the agent sign again: latchkey agent confirm`,
    )
  }
  if (agent.isSameUser) {
    lines.push(
      "  Warning: the agent runs as the daemon's user, so it can read the daemon's files and bypass every limit. Run the daemon as its own user: sudo latchkey service install --system",
    )
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** Returns an agent for programs: potentially large integers as decimal text, times in ISO 8601. */
export function agentJson(agent: Agent, budget?: readonly AgentLimitUse[]): object {
  const { createdAtMs, expiresAtMs, lastUsedAtMs, ...members } = agent
  return {
    ...plain(members),
    createdAt: timeText(createdAtMs),
    expiresAt: expiresAtMs === undefined ? null : timeText(expiresAtMs),
    lastUsedAt: lastUsedAtMs === undefined ? null : timeText(lastUsedAtMs),
    ...(budget && { budget: budget.map(useJson) }),
  }
}

export function stateText({ state, expiresAtMs }: Agent): string {
  if (state === 'key_deleted') return 'ended: its key was deleted'
  if (state === 'wallet_deleted') return 'ended: its wallet was deleted'
  const isLive = state === 'active' || state === 'paused' || state === 'suspended'
  return isLive && expiresAtMs !== undefined ? `${state} until ${Readable.time(expiresAtMs)}` : state
}

/** Describes the remainder of a limit in its unit. */
export function limitLine({ text, limit, used, left, resetsAtMs }: AgentLimitUse, { dollars }: Rules): string {
  if (limit.per === 'payment') return printable(text)
  const amountText = (quantity: bigint): string => formatQuantity(limit, quantity, dollars)
  const more = resetsAtMs === undefined ? '' : `, more at ${Readable.time(resetsAtMs)}`
  return `${printable(text)}: ${amountText(left)} left, ${amountText(used)} used${more}`
}

/** Leaves out the limits, which the budget describes. */
function ruleLines(rules: Rules): string[] {
  const [, ...groups] = describeRules(rules, { networkName })
  return groups.map(({ title, lines }) => printable(`${title}: ${lines.join(' ')}`))
}

function useJson({ limit, text, used, left, resetsAtMs }: AgentLimitUse): object {
  const resetsAt = resetsAtMs === undefined ? null : timeText(resetsAtMs)
  return { limit: plain(limit), text, used: `${used}`, left: `${left}`, resetsAt }
}

function plain(value: unknown): object {
  return JSON.parse(
    JSON.stringify(value, (_name, member: unknown) => (typeof member === 'bigint' ? `${member}` : member)),
  ) as object
}

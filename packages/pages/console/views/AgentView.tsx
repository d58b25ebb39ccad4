/** One agent: its remaining budget, its rules, its history, and the owner's actions. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { AddressText } from '../components/AddressText.js'
import { AgentState, SameUserWarning } from '../components/AgentState.js'
import { BudgetBars } from '../components/BudgetBars.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { RulesInWords } from '../components/RulesInWords.js'
import { SuspendedAgents } from '../components/SuspendedAgents.js'
import { hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import { hasEnded } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import { formatDate, formatTime } from '../model/time.js'
import { type IsCurrent, usePolling } from '../polling.js'
import type { Agent, AgentLimitUse } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { AgentActions } from './AgentActions.js'
import { AgentHistory } from './AgentHistory.js'
import '../styles/agents.css'

type Shown = { agent: Agent; budget: readonly AgentLimitUse[] }

export function AgentView({ agentId }: { agentId: string }) {
  const store = useStore()
  const [shown, setShown] = useState<Shown>()
  const [error, setError] = useState<string>()
  const [isGone, setGone] = useState(false)
  const load = async (isCurrent: IsCurrent = () => true): Promise<void> => {
    try {
      const loaded = await store.daemon.call(agentOperations.ShowAgent, { agent: agentId })
      if (!isCurrent()) return
      setShown(loaded)
      setError(undefined)
    } catch (caught) {
      if (!isCurrent()) return
      if (hasCode(caught, 'agent_not_found')) setGone(true)
      setError(errorMessage(caught))
    }
  }
  usePolling(load, 3_000, [store, agentId])

  if (shown === undefined) {
    return (
      <section aria-labelledby="agent-title">
        <Heading id="agent-title">Agent</Heading>
        {isGone ? (
          <p class="empty">
            There is no such agent. <a href={hrefOf({ view: 'agents' })}>See all agents</a>
          </p>
        ) : (
          <ErrorText text={error} />
        )}
      </section>
    )
  }
  const { agent, budget } = shown
  return (
    <section aria-labelledby="agent-title">
      <div class="section-head">
        <Heading id="agent-title" key={agent.name}>
          {safeName(agent.name)}
        </Heading>
        <AgentState agent={agent} />
      </div>
      <ErrorText text={error} />
      {agent.sameUser && <SameUserWarning />}
      <SuspendedAgents agents={[agent]} onChange={load} />
      <AgentActions agent={agent} onChange={load} />
      <div class="columns">
        {!hasEnded(agent) && (
          <div>
            <div class="section-head">
              <h2>Remaining budget</h2>
            </div>
            <BudgetBars agent={agent} budget={budget} />
          </div>
        )}
        <div>
          <div class="section-head">
            <h2>Rules</h2>
          </div>
          <RulesInWords agent={agent} />
        </div>
      </div>
      <AgentHistory agent={agent} />
      <h2>Grant</h2>
      <Grant agent={agent} />
    </section>
  )
}

function Grant({ agent }: { agent: Agent }) {
  const facts: readonly (readonly [string, string])[] = [
    ['Wallet', agent.walletName === '' ? 'deleted' : safeName(agent.walletName)],
    ['Created', formatDate(agent.createdAtMs)],
    ['Ends', agent.expiresAtMs === 0 ? 'never' : formatDate(agent.expiresAtMs)],
    ['Last used', agent.lastUsedAtMs === 0 ? 'never' : formatTime(agent.lastUsedAtMs)],
    ['ID', agent.id],
  ]
  return (
    <dl class="facts">
      <div>
        <dt>{agent.addresses.length === 1 ? 'Key' : 'Keys'}</dt>
        <dd>
          {agent.addresses.map((address) => (
            <p key={address}>
              <AddressText address={address} />
            </p>
          ))}
        </dd>
      </div>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="break">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

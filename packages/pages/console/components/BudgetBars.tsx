/** The remainder of an agent's limits, as bars. */
import { describeLimit, describeQuantity, quantityOf } from '@latchkey/kmd-api/rules'
import { dollarsOf } from '../model/agentNetwork.js'
import { ratio } from '../model/amount.js'
import { formatTime } from '../model/time.js'
import type { Agent, AgentLimitUse } from '../responseTypes.js'
import { useStore } from '../store.js'
import { Description } from './Description.js'

type Props = { agent: Agent; budget: readonly AgentLimitUse[]; isCompact?: boolean }

export function BudgetBars({ agent, budget, isCompact = false }: Props) {
  // Limits per payment are never used up.
  const bars = budget.filter(({ limit }) => limit.per !== 'payment')
  const each = budget.filter(({ limit }) => limit.per === 'payment')
  return (
    <ul class={isCompact ? 'budget compact' : 'budget'} aria-label={`Remaining budget of ${agent.name}`}>
      {bars.map((use, index) => (
        <Bar key={index} agent={agent} use={use} isCompact={isCompact} />
      ))}
      {!isCompact &&
        each.map(({ limit }, index) => (
          <li key={index} class="soft">
            <EachLimit agent={agent} limit={limit} />
          </li>
        ))}
    </ul>
  )
}

function EachLimit({ agent, limit }: { agent: Agent; limit: AgentLimitUse['limit'] }) {
  const { node } = useStore()
  return (
    <Description text={`At most ${describeLimit(limit, dollarsOf({ node, dollars: agent.rules.dollars }))}`} isShort />
  )
}

type BarProps = { agent: Agent; use: AgentLimitUse; isCompact: boolean }

function Bar({ agent, use, isCompact }: BarProps) {
  const { node } = useStore()
  const { limit, left, resetsAtMs } = use
  const dollars = dollarsOf({ node, dollars: agent.rules.dollars })
  const most = quantityOf(limit)
  const share = Math.min(1, Math.max(0, ratio(left, most)))
  const name = describeLimit(limit, dollars)
  const leftText = `${describeQuantity(limit, left, dollars)} left`
  return (
    <li>
      <p class="bar-text">
        <span>
          <Description text={name} isShort />
        </span>
        <b>{leftText}</b>
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw a meter element each in their own way */}
      <div
        class={share === 0 ? 'bar spent' : 'bar'}
        role="meter"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={leftText}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      {!isCompact && resetsAtMs !== 0 && <p class="hint">More is available from {formatTime(resetsAtMs)}.</p>}
    </li>
  )
}

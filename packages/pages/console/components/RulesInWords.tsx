/** The rules of an agent in plain language. */
import { ruleWarnings } from '@latchkey/kmd-api/rules'
import { ruleGroups } from '../model/agentWords.js'
import type { Agent } from '../responseTypes.js'
import { useStore } from '../store.js'
import { Description } from './Description.js'

export function RulesInWords({ agent }: { agent: Pick<Agent, 'rules' | 'expiresAtMs'> }) {
  const { node } = useStore()
  const warnings = ruleWarnings(agent.rules)
  return (
    <>
      {warnings.length > 0 && (
        <ul class="cautions">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      <dl class="facts">
        {ruleGroups(agent, { node }).map(({ title, lines }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <ul class="break">
                {lines.map((line) => (
                  <li key={line}>
                    <Description text={line} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

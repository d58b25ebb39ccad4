/** Changes the rules and the expiry of an agent, after a review in plain language. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { writeRules } from '@latchkey/kmd-api/rules'
import { useState } from 'preact/hooks'
import { ActPassword } from '../components/ActPassword.js'
import { Dialog } from '../components/Dialog.js'
import { ErrorText } from '../components/ErrorText.js'
import { RulesInWords } from '../components/RulesInWords.js'
import { type AgentDraft, type DraftErrors, draftOf, readDraft } from '../model/agentDraft.js'
import { agentNetwork } from '../model/agentNetwork.js'
import { safeName } from '../model/safeName.js'
import { usePasswordAction } from '../passwordAction.js'
import type { Agent } from '../responseTypes.js'
import { useStore } from '../store.js'
import { RulesForm } from './RulesForm.js'

type Props = { agent: Agent; onChange: () => Promise<void>; onClose: () => void }

export function ChangeAgent({ agent, onChange, onClose }: Props) {
  const store = useStore()
  // The agent as it was opened. Polling must not change the values that the person edits.
  const [original] = useState(agent)
  const { networks, dollars } = original.rules
  const genesisHash = networks.find((one) => one === store.node?.genesisHash) ?? networks[0] ?? ''
  const network = agentNetwork(genesisHash, { node: store.node, dollars })
  const [draft, setDraft] = useState<AgentDraft>(() => draftOf(original, network))
  const [errors, setErrors] = useState<DraftErrors>({ limits: {} })
  const [reviewed, setReviewed] = useState<Pick<Agent, 'rules' | 'expiresAtMs'>>()
  const action = usePasswordAction(original.walletId)

  const review = (event: Event): void => {
    event.preventDefault()
    const read = readDraft(draft, { network, known: store.knownAddresses(), nowMs: Date.now(), agent: original })
    setErrors(read.isValid ? { limits: {} } : read.errors)
    if (read.isValid) setReviewed(read)
  }
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (reviewed === undefined) return
    const isDone = await action.run(async (password) => {
      await store.daemon.call(agentOperations.SetAgentRules, {
        agent: original.id,
        wallet_password: password,
        rules: writeRules(reviewed.rules),
        expires_at_ms: reviewed.expiresAtMs,
      })
    })
    if (!isDone) return
    await onChange()
    onClose()
  }
  return (
    <Dialog title={`Change the limits of ${safeName(original.name)}`} onClose={onClose}>
      {reviewed === undefined ? (
        <form onSubmit={review}>
          {networks.length > 1 && (
            <p class="soft">These are the rules for {network.title}. The rules for other networks do not change.</p>
          )}
          <RulesForm
            draft={draft}
            errors={errors}
            network={network}
            hasEnd={original.expiresAtMs}
            onChange={(changed) => {
              setDraft(changed)
              setErrors({ limits: {} })
            }}
          />
          <p class="actions">
            <button type="submit" class="main">
              Review
            </button>
          </p>
        </form>
      ) : (
        <form onSubmit={save}>
          <p>Earlier spending still counts.</p>
          <RulesInWords agent={reviewed} />
          <ActPassword
            act={action.act}
            wallet={{ id: original.walletId, name: original.walletName }}
            hint=""
            error={action.passwordError}
          />
          <ErrorText text={action.error} />
          <p class="actions">
            <button type="submit" class="main" disabled={action.isBusy}>
              {action.isBusy ? 'Saving…' : 'Save the rules'}
            </button>
            <button type="button" onClick={() => setReviewed(undefined)}>
              Back
            </button>
          </p>
        </form>
      )}
    </Dialog>
  )
}

/** Creates an agent in three steps: wallet and key, limits, review. Its token is then shown once. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { writeRules } from '@latchkey/kmd-api/rules'
import { useState } from 'preact/hooks'
import { useAct } from '../act.js'
import { ActPassword } from '../components/ActPassword.js'
import { AddressText } from '../components/AddressText.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { RulesInWords } from '../components/RulesInWords.js'
import { TokenOnce } from '../components/TokenOnce.js'
import { hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import { type AgentDraft, blankDraft, type DraftErrors, readDraft } from '../model/agentDraft.js'
import { type AgentNetwork, agentNetworks } from '../model/agentNetwork.js'
import { presets } from '../model/agentPresets.js'
import { safeName } from '../model/safeName.js'
import { useOwnAccounts } from '../ownAccounts.js'
import type { Agent } from '../responseTypes.js'
import { hrefOf, navigate } from '../route.js'
import { useStore } from '../store.js'
import { AgentKeys, type AgentKeysDraft } from './AgentKeys.js'
import { RealMoneyConfirmation } from './Confirmations.js'
import { RulesForm } from './RulesForm.js'
import '../styles/agents.css'
import '../styles/money.css'
import '../styles/sign.css'

type Step = 1 | 2 | 3
type Reviewed = Pick<Agent, 'rules' | 'expiresAtMs'>

const stepNames = ['Wallet and key', 'Limits', 'Review']

export function NewAgentView() {
  const store = useStore()
  const act = useAct()
  const [step, setStep] = useState<Step>(1)
  const [keys, setKeys] = useState<AgentKeysDraft>({ name: '', walletId: '', addresses: [], presetId: 'shopping' })
  const [draft, setDraft] = useState<AgentDraft>()
  const [errors, setErrors] = useState<DraftErrors>({ limits: {} })
  const [networkHash, setNetworkHash] = useState<string>()
  const [reviewed, setReviewed] = useState<Reviewed>()
  const [made, setMade] = useState<{ agent: Agent; token: string }>()
  const own = useOwnAccounts()
  const networks = agentNetworks(store.node)
  const network = networks.find(({ genesisHash }) => genesisHash === networkHash) ?? networks[0]!

  if (made !== undefined) return <Made {...made} />
  const shownDraft = draft ?? presets(network).find(({ id }) => id === keys.presetId)?.draft ?? blankDraft(network)
  const review = (event: Event): void => {
    event.preventDefault()
    const read = readDraft(shownDraft, { network, known: store.knownAddresses(), nowMs: Date.now() })
    setErrors(read.isValid ? { limits: {} } : read.errors)
    if (!read.isValid) return
    setReviewed(read)
    setStep(3)
  }
  return (
    <section aria-labelledby="new-agent-title">
      <Heading id="new-agent-title" key={step}>
        New agent
      </Heading>
      <ol class="steps" aria-label="Steps">
        {stepNames.map((name, index) => (
          <li key={name} aria-current={index + 1 === step ? 'step' : undefined}>
            {index + 1}. {name}
          </li>
        ))}
      </ol>
      {step === 1 && (
        <AgentKeys
          act={act}
          own={own}
          draft={keys}
          presets={presets(network)}
          onChange={(changed) => {
            // Another preset replaces the entered rules.
            if (changed.presetId !== keys.presetId) setDraft(undefined)
            setKeys(changed)
          }}
          onNext={() => setStep(2)}
        />
      )}
      {step === 2 && (
        <form class="money" onSubmit={review}>
          <NetworkFields networks={networks} network={network} onChange={setNetworkHash} />
          <RulesForm
            draft={shownDraft}
            errors={errors}
            network={network}
            onChange={(changed) => {
              setDraft(changed)
              setErrors({ limits: {} })
            }}
          />
          <p class="actions">
            <button type="submit" class="main">
              Review
            </button>
            <button type="button" onClick={() => setStep(1)}>
              Back
            </button>
          </p>
        </form>
      )}
      {step === 3 && reviewed !== undefined && (
        <Review
          act={act}
          keys={keys}
          reviewed={reviewed}
          network={network}
          onBack={() => setStep(2)}
          onMade={setMade}
        />
      )}
    </section>
  )
}

type NetworkFieldsProps = {
  networks: readonly AgentNetwork[]
  network: AgentNetwork
  onChange: (genesisHash: string) => void
}

function NetworkFields({ networks, network, onChange }: NetworkFieldsProps) {
  if (networks.length === 1) {
    return (
      <p class="soft">
        For {network.title}, the network of the daemon’s node{network.isMainnet && ', where money is real'}.
      </p>
    )
  }
  return (
    <div class="field narrow">
      <label for="agent-network">Network</label>
      <select id="agent-network" value={network.genesisHash} onChange={(event) => onChange(event.currentTarget.value)}>
        {networks.map(({ genesisHash, title }) => (
          <option key={genesisHash} value={genesisHash}>
            {title}
          </option>
        ))}
      </select>
      <p class="hint">The daemon has no node, so choose the network here.</p>
    </div>
  )
}

type ReviewProps = {
  act: ReturnType<typeof useAct>
  keys: AgentKeysDraft
  reviewed: Reviewed
  network: AgentNetwork
  onBack: () => void
  onMade: (made: { agent: Agent; token: string }) => void
}

function Review({ act, keys, reviewed, network, onBack, onMade }: ReviewProps) {
  const store = useStore()
  const [error, setError] = useState<string>()
  const [passwordError, setPasswordError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isRealMoney, setRealMoney] = useState(false)
  const wallet = store.wallets?.find(({ id }) => id === keys.walletId) ?? { id: keys.walletId, name: '' }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    setPasswordError(undefined)
    const { name, walletId, addresses } = keys
    const password = act.password(walletId)
    try {
      const made = await store.daemon.call(agentOperations.CreateAgent, {
        name: name.trim(),
        wallet_id: walletId,
        wallet_password: password,
        addresses,
        rules: writeRules(reviewed.rules),
        expires_at_ms: reviewed.expiresAtMs,
      })
      act.clear()
      onMade(made)
    } catch (caught) {
      if (hasCode(caught, 'wrong_password')) {
        act.clear()
        setPasswordError('Wrong password.')
      } else setError(errorMessage(caught))
      setBusy(false)
      act.field.current?.focus()
    }
  }
  return (
    <form onSubmit={create}>
      <p class="lead">
        {safeName(keys.name.trim())} may spend from {keys.addresses.length === 1 ? 'this key' : 'these keys'} without
        asking, within these rules:
      </p>
      {keys.addresses.map((address) => (
        <p key={address}>
          <AddressText address={address} />
        </p>
      ))}
      <RulesInWords agent={reviewed} />
      <ActPassword act={act} wallet={wallet} hint="Required to seal the key for the agent." error={passwordError} />
      {network.isMainnet && (
        <RealMoneyConfirmation isChecked={isRealMoney} checked="the limits" onChange={setRealMoney} />
      )}
      <ErrorText text={error} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy || (network.isMainnet && !isRealMoney)}>
          {isBusy ? 'Creating…' : 'Create the agent'}
        </button>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </p>
    </form>
  )
}

function Made({ agent, token }: { agent: Agent; token: string }) {
  return (
    <section aria-labelledby="made-title">
      <Heading id="made-title">{safeName(agent.name)} is ready</Heading>
      <TokenOnce token={token} agentName={agent.name} />
      <p class="actions after">
        <button type="button" class="main" onClick={() => navigate({ view: 'agents', agentId: agent.id })}>
          I have stored it
        </button>
        <a href={hrefOf({ view: 'agents' })}>All agents</a>
      </p>
    </section>
  )
}

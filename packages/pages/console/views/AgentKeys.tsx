/** The first step of a new agent: its name, its preset rules, and its key. */
import { useState } from 'preact/hooks'
import type { Act } from '../act.js'
import { AccountSelect } from '../components/AccountSelect.js'
import { TextField } from '../components/TextField.js'
import { UnlockInView } from '../components/UnlockInView.js'
import type { Preset } from '../model/agentPresets.js'
import { shortAddress } from '../model/shortAddress.js'
import type { OwnAccounts } from '../ownAccounts.js'
import { useStore } from '../store.js'
import { NoAccount } from './NoAccount.js'

export type AgentKeysDraft = {
  name: string
  walletId: string
  addresses: readonly string[]
  presetId: Preset['id']
}

type Props = {
  act: Act
  own: OwnAccounts
  draft: AgentKeysDraft
  presets: readonly Preset[]
  onChange: (draft: AgentKeysDraft) => void
  onNext: () => void
}

const maxKeys = 32
const maxName = 64

export function AgentKeys({ act, own, draft, presets, onChange, onNext }: Props) {
  const store = useStore()
  const [nameError, setNameError] = useState<string>()
  // A multisig account has no key that could be granted.
  const accounts = (own.accounts ?? []).filter(({ isMultisig }) => !isMultisig)
  const [first, ...more] = draft.addresses
  const selected = accounts.find(({ address }) => address === first) ?? (first === undefined ? accounts[0] : undefined)
  const others = accounts.filter(
    ({ walletId, address }) => walletId === selected?.walletId && address !== selected.address,
  )
  const next = (event: Event): void => {
    event.preventDefault()
    const name = draft.name.trim()
    const length = [...name].length
    const error = length === 0 ? 'Give it a name.' : length > maxName ? 'A name has at most 64 characters.' : undefined
    setNameError(error)
    if (error !== undefined || selected === undefined) return
    const chosen = more.filter((address) => others.some((other) => other.address === address))
    onChange({ ...draft, walletId: selected.walletId, addresses: [selected.address, ...chosen] })
    onNext()
  }
  const toggle = (address: string, isChecked: boolean): void => {
    if (selected === undefined) return
    const rest = more.filter((other) => other !== address)
    onChange({ ...draft, addresses: [selected.address, ...(isChecked ? [...rest, address] : rest)] })
  }
  return (
    <form class="money" onSubmit={next}>
      <TextField
        label="Name"
        value={draft.name}
        error={nameError}
        hint="Describe what the agent is for."
        onInput={(name) => {
          setNameError(undefined)
          onChange({ ...draft, name })
        }}
      />
      <fieldset class="presets">
        <legend class="rules-legend">Rules to start from</legend>
        {presets.map(({ id, name, about }) => (
          <label key={id}>
            <input
              type="radio"
              name="preset"
              checked={draft.presetId === id}
              onChange={() => onChange({ ...draft, presetId: id })}
            />
            <span>
              <b>{name}</b>
              <span class="soft small">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {accounts.length === 0 ? (
        <NoAccount act={act} isLoaded={own.accounts !== undefined} purpose="to choose the agent’s key" />
      ) : (
        <>
          <AccountSelect
            label="Key"
            accounts={accounts}
            selected={selected}
            onSelect={(address) => onChange({ ...draft, addresses: [address] })}
          />
          <p class="hint">Use a separate key that holds only what the agent needs. {own.error}</p>
          {others.length > 0 && (
            <details>
              <summary>More keys of this wallet</summary>
              <fieldset class="checks">
                <legend class="visually-hidden">More keys</legend>
                {others.map(({ address }) => (
                  <label class="check" key={address}>
                    <input
                      type="checkbox"
                      checked={more.includes(address)}
                      disabled={!more.includes(address) && draft.addresses.length >= maxKeys}
                      onChange={(event) => toggle(address, event.currentTarget.checked)}
                    />
                    <span>
                      {store.labelOf(address)} <code title={address}>{shortAddress(address)}</code>
                    </span>
                  </label>
                ))}
              </fieldset>
            </details>
          )}
          <UnlockOthers act={act} />
        </>
      )}
      <p class="actions">
        <button type="submit" class="main" disabled={selected === undefined}>
          Next: limits
        </button>
      </p>
    </form>
  )
}

/** The keys of a locked wallet are unknown. */
function UnlockOthers({ act }: { act: Act }) {
  const store = useStore()
  const isLocked = (store.wallets ?? []).some(({ id }) => store.openWallet(id) === undefined)
  if (!isLocked) return null
  return (
    <details>
      <summary>Use a key of another wallet</summary>
      <UnlockInView act={act} purpose="to choose one of its keys" />
    </details>
  )
}

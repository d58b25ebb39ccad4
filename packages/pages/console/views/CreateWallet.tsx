/** Dialog that creates a wallet. */
import { walletOperations } from '@latchkey/kmd-api/operations'
import { useRef, useState } from 'preact/hooks'
import { Dialog } from '../components/Dialog.js'
import { ErrorText } from '../components/ErrorText.js'
import { PasswordField, takePassword } from '../components/PasswordField.js'
import { errorMessage } from '../messages.js'
import { type PasswordStrength, passwordStrength } from '../model/passwordStrength.js'
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'

type Props = { onClose: () => void; onCreated: (wallet: Wallet, password: string) => void }

const blank: PasswordStrength = { level: 'none', note: '' }

export function CreateWallet({ onClose, onCreated }: Props) {
  const store = useStore()
  const name = useRef<HTMLInputElement>(null)
  const first = useRef<HTMLInputElement>(null)
  const second = useRef<HTMLInputElement>(null)
  const [strength, setStrength] = useState(blank)
  const [isBlankAccepted, setBlankAccepted] = useState(false)
  const [mismatch, setMismatch] = useState<string>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const updateStrength = (): void => {
    setStrength(passwordStrength(first.current?.value ?? ''))
    setMismatch(undefined)
  }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (first.current?.value !== second.current?.value) {
      setMismatch('The passwords do not match.')
      second.current?.focus()
      return
    }
    setBusy(true)
    setError(undefined)
    const password = takePassword(first)
    takePassword(second)
    updateStrength()
    try {
      const request = {
        wallet_name: name.current?.value.trim() ?? '',
        wallet_driver_name: 'sqlite',
        wallet_password: password,
      }
      onCreated((await store.daemon.call(walletOperations.CreateWallet, request)).wallet, password)
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }

  const isBlank = strength.level === 'none'
  return (
    <Dialog title="Create wallet" onClose={onClose}>
      <form onSubmit={create}>
        <div class="field">
          <label for="new-name">Name</label>
          <input id="new-name" ref={name} maxLength={64} required autocomplete="off" spellcheck={false} />
        </div>
        <PasswordField
          label="Password"
          field={first}
          autocomplete="new-password"
          onInput={updateStrength}
          hint="The password cannot be recovered. Without it, only a backup of the wallet restores the keys."
        />
        <p class={`strength ${strength.level}`} aria-live="polite">
          {strength.note}
        </p>
        <PasswordField
          label="Confirm password"
          field={second}
          autocomplete="new-password"
          onInput={() => setMismatch(undefined)}
          error={mismatch}
        />
        {isBlank && (
          <label class="check caution">
            <input type="checkbox" checked={isBlankAccepted} onChange={() => setBlankAccepted(!isBlankAccepted)} />
            <span>
              No password. Any program with the daemon’s token, and anyone who can read the wallet file, can then sign.
              For tests only.
            </span>
          </label>
        )}
        <ErrorText text={error} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy || (isBlank && !isBlankAccepted)}>
            {isBusy ? 'Creating…' : 'Create'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

/** A new wallet: its name and its password. */
import { useRef, useState } from 'preact/hooks'
import { Dialog } from '../components/Dialog.js'
import { PasswordField, takePassword } from '../components/PasswordField.js'
import { Problem } from '../components/Problem.js'
import { type Strength, strengthOf } from '../model/password.js'
import type { Wallet } from '../responses.js'
import { messageOf, useStore } from '../store.js'

type Props = { onClose: () => void; onCreated: (wallet: Wallet) => void }

const blank: Strength = { level: 'none', note: '' }

export function CreateWallet({ onClose, onCreated }: Props) {
  const store = useStore()
  const name = useRef<HTMLInputElement>(null)
  const first = useRef<HTMLInputElement>(null)
  const second = useRef<HTMLInputElement>(null)
  const [strength, setStrength] = useState(blank)
  const [isBlankFine, setBlankFine] = useState(false)
  const [mismatch, setMismatch] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const look = (): void => {
    setStrength(strengthOf(first.current?.value ?? ''))
    setMismatch(undefined)
  }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (first.current?.value !== second.current?.value) {
      setMismatch('The two passwords differ.')
      second.current?.focus()
      return
    }
    setBusy(true)
    setProblem(undefined)
    const password = takePassword(first)
    takePassword(second)
    look()
    try {
      onCreated(await store.api.createWallet({ name: name.current?.value.trim() ?? '', password }))
    } catch (error) {
      setProblem(messageOf(error))
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
          onInput={look}
          hint="It cannot be recovered. Without it the keys in the wallet are lost."
        />
        <p class={`strength ${strength.level}`} aria-live="polite">
          {strength.note}
        </p>
        <PasswordField
          label="Password again"
          field={second}
          autocomplete="new-password"
          onInput={() => setMismatch(undefined)}
          error={mismatch}
        />
        {isBlank && (
          <label class="check caution">
            <input type="checkbox" checked={isBlankFine} onChange={() => setBlankFine(!isBlankFine)} />
            <span>
              Without a password. Every program that reaches the daemon with its token, and everybody who can read the
              wallet file, can then sign. Right for tests only.
            </span>
          </label>
        )}
        <Problem text={problem} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy || (isBlank && !isBlankFine)}>
            {isBusy ? 'Creating…' : 'Create'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

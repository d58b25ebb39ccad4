/**
 * The password field of a locked wallet, with the delays after wrong passwords. It is used inside or outside of a form.
 */
import type { RefObject } from 'preact'
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'
import type { Unlocking } from '../unlocking.js'
import { PasswordField } from './PasswordField.js'

type Props = {
  wallet: Wallet
  label: string
  field: RefObject<HTMLInputElement | null>
  unlocking: Unlocking
  /** Called for the button and the Enter key. */
  onSubmit: () => void
}

export function UnlockFields({ wallet, label, field, unlocking, onSubmit }: Props) {
  const { error, isBusy, isSlow, waitSeconds } = unlocking
  const isBlocked = isBusy || waitSeconds > 0
  return (
    <div class="unlock-fields">
      {/* Tells password managers which password this is. */}
      <input type="text" autocomplete="username" value={useStore().displayName(wallet)} readOnly hidden />
      <PasswordField
        label={label}
        field={field}
        autocomplete="current-password"
        onEnter={() => !isBlocked && onSubmit()}
        hint="Leave blank if the wallet has no password."
        error={waitSeconds > 0 ? undefined : error}
      />
      <p class="error" role="alert">
        {waitSeconds > 0 && 'Too many wrong passwords.'}
      </p>
      {waitSeconds > 0 && <p class="soft">Try again in {waitSeconds} s.</p>}
      <p class="actions">
        <button type="button" class="main" disabled={isBlocked} onClick={onSubmit}>
          {isBusy ? 'Unlocking…' : 'Unlock'}
        </button>
      </p>
      <p class="soft" aria-live="polite">
        {isSlow && 'The daemon delays attempts after wrong passwords.'}
      </p>
    </div>
  )
}

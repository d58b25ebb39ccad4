/** The password of an act: a field, or only a note if the person has already entered it. */
import type { Act } from '../act.js'
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'
import { PasswordField } from './PasswordField.js'

type Props = { act: Act; wallet: Wallet; hint?: string; error?: string | undefined }

export function ActPassword({ act, wallet, hint = 'Required for every signature.', error }: Props) {
  const name = useStore().displayName(wallet)
  if (act.isHeld(wallet.id)) {
    return <p class="hint">The password that you entered for {name} is used for this action too, and then discarded.</p>
  }
  return (
    <div class="narrow">
      {/* Tells password managers which password this is. */}
      <input type="text" autocomplete="username" value={name} readOnly hidden />
      <PasswordField
        label={`Password of ${name}`}
        field={act.field}
        autocomplete="current-password"
        hint={hint}
        error={error}
      />
    </div>
  )
}

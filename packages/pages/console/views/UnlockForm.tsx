/** The form that unlocks a locked wallet. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { takePassword } from '../components/PasswordField.js'
import { UnlockFields } from '../components/UnlockFields.js'
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'
import { useUnlocking } from '../unlocking.js'

export function UnlockForm({ wallet }: { wallet: Wallet }) {
  const store = useStore()
  const field = useRef<HTMLInputElement>(null)
  const unlocking = useUnlocking()
  useLayoutEffect(() => field.current?.focus(), [])

  const unlock = async (): Promise<void> => {
    if (!(await unlocking.unlock(wallet, takePassword(field)))) field.current?.focus()
  }
  return (
    <section aria-labelledby="unlock-title">
      <div class="section-head">
        <h2 id="unlock-title">{store.displayName(wallet)}</h2>
        <span class="soft">locked</span>
      </div>
      {/* Password managers look for a form. */}
      <form class="narrow" onSubmit={(event) => event.preventDefault()}>
        <UnlockFields
          wallet={wallet}
          label="Password"
          field={field}
          unlocking={unlocking}
          onSubmit={() => void unlock()}
        />
      </form>
    </section>
  )
}

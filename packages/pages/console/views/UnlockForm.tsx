/** Unlocks a wallet. Shows how long the daemon blocks attempts after wrong passwords. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { PasswordField, takePassword } from '../components/PasswordField.js'
import { DaemonError, hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import type { Wallet } from '../responses.js'
import { useStore } from '../store.js'

/** After this long the form explains the delay. */
const slowMs = 1_500

export function UnlockForm({ wallet }: { wallet: Wallet }) {
  const store = useStore()
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isSlow, setSlow] = useState(false)
  const [waitSeconds, setWaitSeconds] = useState(0)

  useEffect(() => {
    if (waitSeconds <= 0) return
    const timer = window.setTimeout(() => setWaitSeconds(waitSeconds - 1), 1000)
    return () => clearTimeout(timer)
  }, [waitSeconds])

  useLayoutEffect(() => field.current?.focus(), [])

  const unlock = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const slow = window.setTimeout(() => setSlow(true), slowMs)
    try {
      await store.unlock(wallet, takePassword(field))
    } catch (caught) {
      setError(explain(caught))
      if (caught instanceof DaemonError && caught.status === 429)
        setWaitSeconds(Math.ceil(caught.retryAfterSeconds ?? 1))
      setBusy(false)
      field.current?.focus()
    } finally {
      clearTimeout(slow)
      setSlow(false)
    }
  }

  return (
    <section aria-labelledby="unlock-title">
      <div class="section-head">
        <h2 id="unlock-title">{store.displayName(wallet)}</h2>
        <span class="soft">locked</span>
      </div>
      <form class="narrow" onSubmit={unlock}>
        {/* Tells password managers which password this is. */}
        <input type="text" autocomplete="username" value={store.displayName(wallet)} readOnly hidden />
        <PasswordField
          label="Password"
          field={field}
          autocomplete="current-password"
          hint="Leave blank if the wallet has no password."
          error={waitSeconds > 0 ? undefined : error}
        />
        <p class="error" role="alert">
          {waitSeconds > 0 && 'Too many wrong passwords.'}
        </p>
        {waitSeconds > 0 && <p class="soft">Try again in {waitSeconds} s.</p>}
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy || waitSeconds > 0}>
            {isBusy ? 'Unlocking…' : 'Unlock'}
          </button>
        </p>
        <p class="soft" aria-live="polite">
          {isSlow && 'The daemon delays attempts after wrong passwords.'}
        </p>
      </form>
    </section>
  )
}

function explain(error: unknown): string | undefined {
  return hasCode(error, 'wrong_password') ? 'Wrong password.' : errorMessage(error)
}

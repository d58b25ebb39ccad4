/** A locked wallet. Wrong passwords cost time, and it says how much. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { PasswordField, takePassword } from '../components/PasswordField.js'
import type { Wallet } from '../responses.js'
import { messageOf, useStore } from '../store.js'
import { ApiError } from '../wire.js'

/** After this, whoever waits is told why. */
const slowMs = 1_500

export function UnlockForm({ wallet }: { wallet: Wallet }) {
  const store = useStore()
  const field = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isSlow, setSlow] = useState(false)
  const [waitSeconds, setWaitSeconds] = useState(0)

  useEffect(() => {
    if (waitSeconds <= 0) return
    const timer = window.setTimeout(() => setWaitSeconds(waitSeconds - 1), 1000)
    return () => clearTimeout(timer)
  }, [waitSeconds])

  // Whoever chose this wallet is about to type its password.
  useLayoutEffect(() => field.current?.focus(), [])

  const unlock = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setProblem(undefined)
    const slow = window.setTimeout(() => setSlow(true), slowMs)
    try {
      await store.unlock(wallet, takePassword(field))
    } catch (error) {
      setProblem(explain(error))
      if (error instanceof ApiError && error.status === 429) setWaitSeconds(Math.ceil(error.retryAfterSeconds ?? 1))
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
        <h2 id="unlock-title">{store.openName(wallet)}</h2>
        <span class="soft">locked</span>
      </div>
      <form class="narrow" onSubmit={unlock}>
        {/* Tells a password manager which password it is. */}
        <input type="text" autocomplete="username" value={store.openName(wallet)} readOnly hidden />
        <PasswordField
          label="Password"
          field={field}
          autocomplete="current-password"
          hint="Leave it blank if the wallet has none."
          error={waitSeconds > 0 ? undefined : problem}
        />
        <p class="wrong" role="alert">
          {waitSeconds > 0 && 'Too many wrong passwords.'}
        </p>
        {waitSeconds > 0 && <p class="soft">The next one is looked at in {waitSeconds} s.</p>}
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy || waitSeconds > 0}>
            {isBusy ? 'Unlocking…' : 'Unlock'}
          </button>
        </p>
        <p class="soft" aria-live="polite">
          {isSlow && 'The daemon takes its time: after wrong passwords the next one has to wait.'}
        </p>
      </form>
    </section>
  )
}

function explain(error: unknown): string | undefined {
  return error instanceof ApiError && error.isWrongPassword ? 'Wrong password.' : messageOf(error)
}

/** The state of an attempt to unlock a wallet: errors, and the delay that the daemon imposes. */
import { useEffect, useState } from 'preact/hooks'
import { DaemonError, hasCode } from './errors.js'
import { errorMessage } from './messages.js'
import type { Wallet } from './responseTypes.js'
import { useStore } from './store.js'

/** After this long the form explains the delay. */
const slowMs = 1_500

export type Unlocking = {
  error: string | undefined
  isBusy: boolean
  isSlow: boolean
  waitSeconds: number
  /** Returns whether the wallet is now unlocked. */
  unlock: (wallet: Wallet, password: string) => Promise<boolean>
}

export function useUnlocking(): Unlocking {
  const store = useStore()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isSlow, setSlow] = useState(false)
  const [waitSeconds, setWaitSeconds] = useState(0)

  useEffect(() => {
    if (waitSeconds <= 0) return
    const timer = window.setTimeout(() => setWaitSeconds(waitSeconds - 1), 1000)
    return () => clearTimeout(timer)
  }, [waitSeconds])

  const unlock = async (wallet: Wallet, password: string): Promise<boolean> => {
    setBusy(true)
    setError(undefined)
    const slow = window.setTimeout(() => setSlow(true), slowMs)
    try {
      await store.unlock(wallet, password)
      return true
    } catch (caught) {
      setError(hasCode(caught, 'wrong_password') ? 'Wrong password.' : errorMessage(caught))
      if (caught instanceof DaemonError && caught.status === 429)
        setWaitSeconds(Math.ceil(caught.retryAfterSeconds ?? 1))
      return false
    } finally {
      clearTimeout(slow)
      setSlow(false)
      setBusy(false)
    }
  }
  return { error, isBusy, isSlow, waitSeconds, unlock }
}

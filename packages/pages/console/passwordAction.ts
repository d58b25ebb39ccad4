/** An action that needs the password of a wallet, with its possible errors. */
import { useState } from 'preact/hooks'
import { type Act, useAct } from './act.js'
import { DaemonError, hasCode } from './errors.js'
import { errorMessage } from './messages.js'

export type PasswordAction = {
  act: Act
  error: string | undefined
  passwordError: string | undefined
  isBusy: boolean
  /** Runs `work` with the entered password. Returns whether it succeeded. */
  run: (work: (password: string) => Promise<void>) => Promise<boolean>
}

export function usePasswordAction(walletId: string): PasswordAction {
  const act = useAct()
  const [error, setError] = useState<string>()
  const [passwordError, setPasswordError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const run: PasswordAction['run'] = async (work) => {
    if (isBusy) return false
    setBusy(true)
    setError(undefined)
    setPasswordError(undefined)
    try {
      await work(act.password(walletId))
      act.clear()
      return true
    } catch (caught) {
      if (hasCode(caught, 'wrong_password')) {
        act.clear()
        setPasswordError('Wrong password.')
      } else {
        const isDelayed = caught instanceof DaemonError && caught.status === 429
        if (isDelayed) act.clear()
        setError(errorMessage(caught))
      }
      act.field.current?.focus()
      return false
    } finally {
      setBusy(false)
    }
  }
  return { act, error, passwordError, isBusy, run }
}

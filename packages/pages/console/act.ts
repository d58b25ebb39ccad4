/**
 * One act of a person in a view, such as signing a group. It asks for the password of a wallet once: the password that
 * unlocks the wallet also signs. The password is cleared after the act, after five minutes, or when the person leaves
 * the view.
 */
import { createRef } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { takePassword } from './components/PasswordField.js'

const maxHeldMs = 5 * 60_000

export class Act {
  /** The password field of the act, if it is shown. */
  readonly field = createRef<HTMLInputElement>()
  readonly #onChange: () => void
  #held: { walletId: string; password: string } | undefined
  #timer = 0

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Keeps the password that unlocked a wallet for the rest of the act. */
  hold(walletId: string, password: string): void {
    clearTimeout(this.#timer)
    this.#held = { walletId, password }
    this.#timer = window.setTimeout(() => this.clear(), maxHeldMs)
    this.#onChange()
  }

  /** Whether the person has already entered the password of this wallet in this act. */
  isHeld(walletId: string): boolean {
    return this.#held?.walletId === walletId
  }

  /** Returns the password that was entered in this act, or the content of the field, which is cleared. */
  password(walletId: string): string {
    const typed = takePassword(this.field)
    return this.#held?.walletId === walletId ? this.#held.password : typed
  }

  /** Clears the password after the act is done or canceled, or if the password was wrong. */
  clear(): void {
    clearTimeout(this.#timer)
    if (this.#held === undefined) return
    this.#held = undefined
    this.#onChange()
  }
}

/** The act of a view. Its password is cleared when the view unmounts. */
export function useAct(): Act {
  const [, setCount] = useState(0)
  const [act] = useState(() => new Act(() => setCount((count) => count + 1)))
  useEffect(() => () => act.clear(), [act])
  return act
}

/**
 * Unlocks with a blank password. Before nearly every command, `goal` tries a blank password to find out whether a
 * wallet is unencrypted. Repeating this attempt is still only one guess, so it is neither counted nor delayed. A wrong
 * blank password is remembered for the exact bytes of the wrapped master key: checking the same bytes again could not
 * succeed and would cost a derivation.
 */
import { createHash } from 'node:crypto'
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'

type Known = { digest: string; isRight: boolean }

export class BlankPasswords {
  readonly #known: BoundedMap<string, Known>
  /** First checks in progress. These promises never reject. */
  readonly #running = new Map<string, Promise<void>>()

  constructor({ limit = 10_000 }: { limit?: number } = {}) {
    this.#known = new BoundedMap(limit)
  }

  /**
   * Runs `check` with the blank password, unless it is known to be wrong. `stored` is the wrapped master key that the
   * check opens.
   *
   * @throws {@link KmdError} `wrong_password`, and any error of `check`.
   */
  async attempt<T>(wallet: string, stored: Uint8Array, check: () => Promise<T>): Promise<T> {
    const digest = createHash('sha256').update(stored).digest('base64')
    const running = `${digest} ${wallet}`
    for (;;) {
      const known = this.#known.get(wallet)
      if (known?.digest === digest) {
        if (known.isRight) return check()
        throw new KmdError('wrong_password')
      }
      const first = this.#running.get(running)
      if (first === undefined) break
      await first
    }
    const result = check()
    this.#running.set(running, this.#learn(result, { wallet, digest, running }))
    return result
  }

  async #learn(result: Promise<unknown>, names: { wallet: string; digest: string; running: string }): Promise<void> {
    const { wallet, digest, running } = names
    try {
      await result
      this.#known.set(wallet, { digest, isRight: true })
    } catch (error) {
      if (error instanceof KmdError && error.code === 'wrong_password') {
        this.#known.set(wallet, { digest, isRight: false })
      }
    } finally {
      this.#running.delete(running)
    }
  }
}

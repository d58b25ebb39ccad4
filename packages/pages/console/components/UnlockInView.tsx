/** Unlocks a wallet inside the view that needs it. The password also serves the rest of the act. */
import { useRef, useState } from 'preact/hooks'
import type { Act } from '../act.js'
import { usePolling } from '../polling.js'
import type { Wallet } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { useUnlocking } from '../unlocking.js'
import { takePassword } from './PasswordField.js'
import { UnlockFields } from './UnlockFields.js'

type Props = {
  act: Act
  /** The purpose of the wallet, shown after "Unlock a wallet". */
  purpose: string
  /** Only this wallet. @default every locked one */
  walletId?: string | undefined
  onUnlocked?: (wallet: Wallet) => void
}

export function UnlockInView({ act, purpose, walletId, onUnlocked }: Props) {
  const store = useStore()
  const field = useRef<HTMLInputElement>(null)
  const [selectedId, setSelectedId] = useState<string>()
  const unlocking = useUnlocking()
  // The view may be the first one of the session.
  usePolling(async () => store.wallets ?? (await store.loadWallets()), 5_000, [store])

  const locked = (store.wallets ?? []).filter(
    ({ id }) => store.openWallet(id) === undefined && (walletId === undefined || id === walletId),
  )
  const wallet = locked.find(({ id }) => id === (selectedId ?? store.selectedId)) ?? locked[0]
  if (store.wallets === undefined) return null
  if (wallet === undefined) {
    if (store.wallets.length > 0) return null
    return (
      <p class="note">
        There is no wallet yet. <a href={hrefOf({ view: 'wallets', walletId: undefined })}>Create a wallet</a>
      </p>
    )
  }
  const submit = async (): Promise<void> => {
    const password = takePassword(field)
    if (await unlocking.unlock(wallet, password)) {
      act.hold(wallet.id, password)
      onUnlocked?.(wallet)
    } else field.current?.focus()
  }
  const name = store.displayName(wallet)
  return (
    <fieldset class="note unlock-here">
      <legend>
        {locked.length === 1 ? `Unlock “${name}”` : 'Unlock a wallet'} {purpose}
      </legend>
      {locked.length > 1 && (
        <div class="field narrow">
          <label for="unlock-wallet">Wallet to unlock</label>
          <select id="unlock-wallet" value={wallet.id} onChange={(event) => setSelectedId(event.currentTarget.value)}>
            {locked.map((one) => (
              <option key={one.id} value={one.id}>
                {store.displayName(one)}
              </option>
            ))}
          </select>
        </div>
      )}
      <div class="narrow">
        <UnlockFields
          key={wallet.id}
          wallet={wallet}
          label={`Password of ${name}`}
          field={field}
          unlocking={unlocking}
          onSubmit={() => void submit()}
        />
      </div>
    </fieldset>
  )
}

/** Shown if a view needs an account and there is none: unlocks a wallet, or explains what is missing. */
import type { Act } from '../act.js'
import { UnlockInView } from '../components/UnlockInView.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'

type Props = { act: Act; isLoaded: boolean; purpose: string }

export function NoAccount({ act, isLoaded, purpose }: Props) {
  const store = useStore()
  if (store.openWallets.length > 0 && !isLoaded) return <p class="empty">Loading the accounts…</p>
  const [open] = store.openWallets
  return (
    <>
      {open !== undefined && (
        <p class="empty">
          The wallet {store.displayName(open)} has no keys yet.{' '}
          <a href={hrefOf({ view: 'wallets', walletId: open.id })}>Generate a key</a>
        </p>
      )}
      <UnlockInView act={act} purpose={purpose} />
    </>
  )
}

/** The list of wallets, and the selected wallet. */
import { useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { errorMessage } from '../messages.js'
import { usePolling } from '../polling.js'
import type { Wallet } from '../responses.js'
import { hrefOf, navigate } from '../route.js'
import { useStore } from '../store.js'
import { CreateWallet } from './CreateWallet.js'
import { UnlockForm } from './UnlockForm.js'
import { WalletView } from './WalletView.js'

export function WalletsView({ walletId }: { walletId: string | undefined }) {
  const store = useStore()
  const [isCreating, setCreating] = useState(false)
  const [error, setError] = useState<string>()
  usePolling(
    () =>
      store.loadWallets().then(
        () => setError(undefined),
        (caught) => setError(errorMessage(caught)),
      ),
    5_000,
    [store],
  )

  const onCreated = (wallet: Wallet): void => {
    setCreating(false)
    navigate({ view: 'wallets', walletId: wallet.id })
    void store.loadWallets().catch(() => {})
  }

  const { wallets } = store
  const selectedId = walletId ?? store.selectedId
  store.selectedId = selectedId
  const selected = wallets?.find(({ id }) => id === selectedId)
  const isFirst = wallets?.length === 0
  return (
    <div class="wallets">
      <section aria-labelledby="wallets-title">
        <div class="section-head">
          <Heading id="wallets-title">Wallets</Heading>
          <button type="button" class={isFirst ? 'main' : ''} onClick={() => setCreating(true)}>
            Create wallet
          </button>
        </div>
        <ErrorText text={error} />
        <ul class="wallet-list">
          {wallets?.map((wallet) => (
            <li key={wallet.id}>
              <a
                href={hrefOf({ view: 'wallets', walletId: wallet.id })}
                aria-current={wallet.id === selectedId ? 'true' : undefined}
              >
                <span class="name">{store.displayName(wallet)}</span>
                <span class={store.openWallet(wallet.id) === undefined ? 'lock' : 'lock open'}>
                  {store.openWallet(wallet.id) === undefined ? 'locked' : 'unlocked'}
                </span>
              </a>
            </li>
          ))}
        </ul>
        {isFirst && <p class="empty">No wallets yet. A wallet is a set of keys with one password.</p>}
      </section>
      <div class="selected">
        {selected !== undefined && <SelectedWallet key={selected.id} wallet={selected} />}
        {selected === undefined && !isFirst && wallets !== undefined && (
          <p class="empty">
            {selectedId === undefined
              ? 'Select a wallet to unlock it and see its keys.'
              : 'This wallet no longer exists.'}
          </p>
        )}
      </div>
      {isCreating && <CreateWallet onClose={() => setCreating(false)} onCreated={onCreated} />}
    </div>
  )
}

function SelectedWallet({ wallet }: { wallet: Wallet }) {
  const open = useStore().openWallet(wallet.id)
  return open === undefined ? <UnlockForm wallet={wallet} /> : <WalletView key={open.handle} wallet={open} />
}

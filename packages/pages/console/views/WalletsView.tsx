/** The list of wallets, and the selected wallet. */
import { useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { errorMessage } from '../messages.js'
import { usePolling } from '../polling.js'
import type { Wallet } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { BackupDialog } from './lazyBackup.js'
import { CreatingWallet } from './lazyOverview.js'
import { UnlockForm } from './UnlockForm.js'
import { WalletState } from './WalletState.js'
import { WalletView } from './WalletView.js'

type Props = { walletId: string | undefined; address: string | undefined }

export function WalletsView({ walletId, address }: Props) {
  const store = useStore()
  const [isCreating, setCreating] = useState(false)
  const [backedUp, setBackedUp] = useState<Wallet>()
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
                <WalletState wallet={wallet} />
              </a>
            </li>
          ))}
        </ul>
        {isFirst && <p class="empty">No wallets yet. A wallet is a set of keys with one password.</p>}
      </section>
      <div class="selected">
        {selected !== undefined && (
          <SelectedWallet
            key={selected.id}
            wallet={selected}
            address={address}
            onBackUp={() => setBackedUp(selected)}
          />
        )}
        {selected === undefined && !isFirst && wallets !== undefined && (
          <p class="empty">
            {selectedId === undefined
              ? 'Select a wallet to unlock it and see its keys.'
              : 'This wallet no longer exists.'}
          </p>
        )}
      </div>
      {/* Here, because a wallet may lock while its words are being written down. */}
      {backedUp !== undefined && <BackupDialog wallet={backedUp} onClose={() => setBackedUp(undefined)} />}
      {isCreating && <CreatingWallet onClose={() => setCreating(false)} />}
    </div>
  )
}

type SelectedProps = { wallet: Wallet; address: string | undefined; onBackUp: () => void }

function SelectedWallet({ wallet, address, onBackUp }: SelectedProps) {
  const open = useStore().openWallet(wallet.id)
  if (open === undefined) return <UnlockForm wallet={wallet} />
  return <WalletView key={open.handle} wallet={open} address={address} onBackUp={onBackUp} />
}

/** The wallets on the left, one of them on the right. */
import { useState } from 'preact/hooks'
import { Heading } from '../components/Heading.js'
import { Problem } from '../components/Problem.js'
import { usePolling } from '../polling.js'
import type { Wallet } from '../responses.js'
import { go, hrefOf } from '../route.js'
import { messageOf, useStore } from '../store.js'
import { CreateWallet } from './CreateWallet.js'
import { UnlockForm } from './UnlockForm.js'
import { WalletView } from './WalletView.js'

export function WalletsView({ walletId }: { walletId: string | undefined }) {
  const store = useStore()
  const [isCreating, setCreating] = useState(false)
  const [problem, setProblem] = useState<string>()
  usePolling(
    () =>
      store.loadWallets().then(
        () => setProblem(undefined),
        (error) => setProblem(messageOf(error)),
      ),
    5_000,
    [store],
  )

  const created = (wallet: Wallet): void => {
    setCreating(false)
    go({ view: 'wallets', walletId: wallet.id })
    void store.loadWallets().catch(() => {})
  }

  const { wallets } = store
  const chosenId = walletId ?? store.chosenId
  store.chosenId = chosenId
  const chosen = wallets?.find(({ id }) => id === chosenId)
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
        <Problem text={problem} />
        <ul class="wallet-list">
          {wallets?.map((wallet) => (
            <li key={wallet.id}>
              <a
                href={hrefOf({ view: 'wallets', walletId: wallet.id })}
                aria-current={wallet.id === chosenId ? 'true' : undefined}
              >
                <span class="name">{store.openName(wallet)}</span>
                <span class={store.openWallet(wallet.id) === undefined ? 'lock' : 'lock open'}>
                  {store.openWallet(wallet.id) === undefined ? 'locked' : 'unlocked'}
                </span>
              </a>
            </li>
          ))}
        </ul>
        {isFirst && <p class="empty">There is no wallet yet. A wallet is a set of keys under one password.</p>}
      </section>
      <div class="chosen">
        {chosen !== undefined && <Chosen key={chosen.id} wallet={chosen} />}
        {chosen === undefined && !isFirst && wallets !== undefined && (
          <p class="empty">
            {chosenId === undefined
              ? 'Choose a wallet to unlock it and see its keys.'
              : 'There is no such wallet any more.'}
          </p>
        )}
      </div>
      {isCreating && <CreateWallet onClose={() => setCreating(false)} onCreated={created} />}
    </div>
  )
}

function Chosen({ wallet }: { wallet: Wallet }) {
  const open = useStore().openWallet(wallet.id)
  return open === undefined ? <UnlockForm wallet={wallet} /> : <WalletView key={open.handle} wallet={open} />
}

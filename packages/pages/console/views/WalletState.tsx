/** Shows whether a wallet is unlocked, and whether its backup is pending. */
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'

export function WalletState({ wallet }: { wallet: Wallet }) {
  const store = useStore()
  const isOpen = store.openWallet(wallet.id) !== undefined
  return (
    <span class={isOpen ? 'lock open' : 'lock'}>
      {store.pendingBackups.has(wallet.id) && <span class="tag to-do">not backed up</span>}{' '}
      {isOpen ? 'unlocked' : 'locked'}
    </span>
  )
}

/** Creates a wallet, unlocks it and starts its backup: one act with one password. */
import { useState } from 'preact/hooks'
import { useAct } from '../act.js'
import type { Wallet } from '../responseTypes.js'
import { navigate } from '../route.js'
import { useStore } from '../store.js'
import { CreateWallet } from './CreateWallet.js'
import { BackupDialog } from './lazyBackup.js'

export function CreatingWallet({ onClose }: { onClose: () => void }) {
  const store = useStore()
  const act = useAct()
  const [created, setCreated] = useState<Wallet>()

  const leave = (wallet: Wallet): void => {
    onClose()
    navigate({ view: 'wallets', walletId: wallet.id })
  }

  const onCreated = async (wallet: Wallet, password: string): Promise<void> => {
    act.hold(wallet.id, password)
    // If this fails, the wallet still exists, and its views ask for the password.
    await store.unlock(wallet, password).catch(() => {})
    await store.loadWallets().catch(() => {})
    if (store.pendingBackups.has(wallet.id)) return setCreated(wallet)
    const name = store.displayName(wallet)
    store.notify(`The daemon could not mark ${name} as not backed up. Back it up: latchkey wallet backup "${name}"`, {
      isError: true,
    })
    leave(wallet)
  }
  if (created !== undefined) return <BackupDialog wallet={created} act={act} onClose={() => leave(created)} />
  return <CreateWallet onClose={onClose} onCreated={(wallet, password) => void onCreated(wallet, password)} />
}

/** The accounts of the unlocked wallets, with their balances. */
import { useCallback, useState } from 'preact/hooks'
import { loadAccounts, loadContents } from './accounts.js'
import { errorMessage, toSentence } from './messages.js'
import { usePolling } from './polling.js'
import type { Account } from './responseTypes.js'
import { type Store, useStore } from './store.js'

export type OwnAccount = {
  walletId: string
  walletName: string
  address: string
  isMultisig: boolean
  /** The number of accounts of the same wallet that are not listed. */
  leftOut: number
  /** Undefined without a node. */
  account: Account | undefined
}

export type OwnAccounts = {
  /** Undefined until they are loaded. */
  accounts: readonly OwnAccount[] | undefined
  error: string | undefined
  reload: () => Promise<void>
}

/** A wallet may have thousands of keys, and each balance takes a request. */
const maxPerWallet = 100

/** Reloads the accounts every few seconds. `wanted` is always included, however many keys its wallet has. */
export function useOwnAccounts(wanted?: string): OwnAccounts {
  const store = useStore()
  const [accounts, setAccounts] = useState<readonly OwnAccount[]>()
  const [error, setError] = useState<string>()
  const handles = store.openWallets.map(({ handle }) => handle).join()
  const reload = useCallback(async () => {
    const listed = await list(store, wanted)
    try {
      if (!(await store.hasNode())) setError(toSentence(store.node?.message ?? ''))
      else {
        const found = await loadAccounts(
          store.daemon,
          listed.map(({ address }) => address),
        )
        const byAddress = new Map(found.map((account) => [account.address, account]))
        setError(undefined)
        return setAccounts(listed.map((own) => ({ ...own, account: byAddress.get(own.address) })))
      }
    } catch (caught) {
      setError(errorMessage(caught))
    }
    // Addresses are useful even without balances.
    setAccounts((before) => {
      const known = new Map(before?.map(({ address, account }) => [address, account]))
      return listed.map((own) => ({ ...own, account: known.get(own.address) }))
    })
  }, [store, wanted, handles])
  usePolling(reload, 5_000, [reload])
  return { accounts, error, reload }
}

async function list(store: Store, wanted: string | undefined): Promise<OwnAccount[]> {
  const all = await Promise.allSettled(
    store.openWallets.map((wallet) =>
      store.withHandle(wallet.id, async ({ handle }) => {
        const { keys, multisigs } = await loadContents(store.daemon, handle)
        const shown = [...new Set([...keys.slice(0, maxPerWallet), ...keys.filter((key) => key === wanted)])]
        const leftOut = keys.length - shown.length + Math.max(0, multisigs.length - maxPerWallet)
        const own = { walletId: wallet.id, walletName: store.displayName(wallet), leftOut, account: undefined }
        return [
          ...shown.map((address) => ({ ...own, address, isMultisig: false })),
          ...multisigs.slice(0, maxPerWallet).map(({ address }) => ({ ...own, address, isMultisig: true })),
        ]
      }),
    ),
  )
  return all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
}

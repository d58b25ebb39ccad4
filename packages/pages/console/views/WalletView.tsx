/** An unlocked wallet: time until it locks, keys, multisig accounts. */
import { keyOperations } from '@latchkey/kmd-api/operations'
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { loadAccounts } from '../accounts.js'
import { ErrorText } from '../components/ErrorText.js'
import { LabelDialog } from '../components/LabelDialog.js'
import { errorMessage, toSentence } from '../messages.js'
import type { MultisigAccount } from '../model/signerOptions.js'
import { formatDuration } from '../model/time.js'
import { useEverySecond, usePolling } from '../polling.js'
import type { Account } from '../responseTypes.js'
import { type OpenWallet, useStore } from '../store.js'
import { CreateMultisig } from './CreateMultisig.js'
import { KeyRow } from './KeyRow.js'
import { MultisigRow } from './MultisigRow.js'

/** The number of keys shown at first, because a wallet may have thousands. */
const pageLength = 100

type Props = {
  wallet: OpenWallet
  /** The key that was searched for. */
  address?: string | undefined
  onBackUp: () => void
}

export function WalletView({ wallet, address: wanted, onBackUp }: Props) {
  const store = useStore()
  const title = useRef<HTMLHeadingElement>(null)
  const [keys, setKeys] = useState<readonly string[]>()
  const [multisigs, setMultisigs] = useState<readonly MultisigAccount[]>([])
  const [accounts, setAccounts] = useState<ReadonlyMap<string, Account>>(new Map())
  const [balanceError, setBalanceError] = useState<string>()
  const [error, setError] = useState<string>()
  const [shownCount, setShownCount] = useState(pageLength)
  const [isBusy, setBusy] = useState(false)
  const [isCreating, setCreating] = useState(false)
  const [labelledAddress, setLabelledAddress] = useState<string>()

  const load = useCallback(async () => {
    const { keys, multisigs } = await store.loadContents(wallet.id)
    setKeys(keys)
    setMultisigs(multisigs)
    // A key that was searched for is shown, at any position.
    const wantedIndex = wanted === undefined ? -1 : keys.indexOf(wanted)
    if (wantedIndex >= shownCount) setShownCount(wantedIndex + 1)
    return [...keys.slice(0, shownCount), ...multisigs.map(({ address }) => address)]
  }, [store, wallet.id, shownCount, wanted])

  const refresh = useCallback(async () => {
    const addresses = await load()
    if (addresses.length === 0) return
    try {
      if (!(await store.hasNode())) return setBalanceError(toSentence(store.node?.message ?? ''))
      const loaded = await loadAccounts(store.daemon, addresses)
      setAccounts(new Map(loaded.map((account) => [account.address, account])))
      setBalanceError(undefined)
    } catch (caught) {
      setBalanceError(errorMessage(caught))
    }
  }, [store, load])

  usePolling(refresh, 4_000, [refresh])

  // The unlock form had the focus and is gone.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) title.current?.focus()
  }, [])

  const generate = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await store.withHandle(wallet.id, ({ handle }) =>
        store.daemon.call(keyOperations.GenerateKey, { wallet_handle_token: handle }),
      )
      await refresh()
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  const onCreated = async (): Promise<void> => {
    setCreating(false)
    await refresh().catch(() => {})
  }

  return (
    <section aria-labelledby="wallet-title">
      <div class="section-head">
        <h2 id="wallet-title" ref={title} tabIndex={-1}>
          {store.displayName(wallet)}
        </h2>
        <TimeLeft wallet={wallet} />
      </div>

      {store.pendingBackups.has(wallet.id) && (
        <div class="aside to-do">
          <p>
            <b>Not backed up.</b> If this machine is lost, so are the keys in this wallet.
          </p>
          <button type="button" onClick={onBackUp}>
            Back up
          </button>
        </div>
      )}

      <div class="section-head">
        <h3>Keys</h3>
        <button type="button" class={keys?.length === 0 ? 'main' : ''} disabled={isBusy} onClick={generate}>
          Generate key
        </button>
      </div>
      <ErrorText text={error} />
      {balanceError !== undefined && (
        <p class="aside">
          <b>Balances are not available.</b> {balanceError}
        </p>
      )}
      {keys?.length === 0 && <p class="empty">No keys yet. Each key is an address that can hold funds.</p>}
      <ul class="rows">
        {keys?.slice(0, shownCount).map((address) => (
          <KeyRow
            key={address}
            address={address}
            account={accounts.get(address)}
            isFound={address === wanted}
            onFunded={refresh}
            onLabel={setLabelledAddress}
          />
        ))}
      </ul>
      {(keys?.length ?? 0) > shownCount && (
        <button type="button" onClick={() => setShownCount(shownCount + pageLength)}>
          Show more ({keys?.length} keys)
        </button>
      )}

      <div class="section-head">
        <h3>Multisig accounts</h3>
        <button type="button" onClick={() => setCreating(true)}>
          Create multisig
        </button>
      </div>
      {multisigs.length === 0 && (
        <p class="empty">No multisig accounts yet. A multisig account needs signatures from several keys.</p>
      )}
      <ul class="rows">
        {multisigs.map((multisig) => (
          <MultisigRow
            key={multisig.address}
            multisig={multisig}
            keys={keys ?? []}
            account={accounts.get(multisig.address)}
            isFound={multisig.address === wanted}
            onFunded={refresh}
            onLabel={setLabelledAddress}
          />
        ))}
      </ul>

      {labelledAddress !== undefined && (
        <LabelDialog address={labelledAddress} onClose={() => setLabelledAddress(undefined)} />
      )}
      {isCreating && (
        <CreateMultisig wallet={wallet} keys={keys ?? []} onClose={() => setCreating(false)} onCreated={onCreated} />
      )}
    </section>
  )
}

function TimeLeft({ wallet }: { wallet: OpenWallet }) {
  const store = useStore()
  const [, draw] = useState(0)
  useEverySecond(draw)
  const seconds = Math.max(0, Math.ceil((wallet.expiresAtMs - Date.now()) / 1000))
  return (
    <p class="time-left">
      <span class={seconds <= 10 ? 'soon' : ''} role="timer">
        {store.isDevelopmentWallet(wallet)
          ? 'stays unlocked in the development stack'
          : Number.isFinite(seconds)
            ? `locks in ${formatDuration(seconds)}${wallet.isFinal ? '' : ' without use'}`
            : ''}
      </span>
      <button type="button" onClick={() => void store.lock(wallet.id)}>
        Lock
      </button>
    </p>
  )
}

/** An unlocked wallet: how long it stays so, its keys and its multisig accounts. */
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../components/Problem.js'
import { QrDialog } from '../components/QrDialog.js'
import { formatDuration } from '../model/time.js'
import { usePolling, useSecond } from '../polling.js'
import type { Account, Multisig } from '../responses.js'
import { messageOf, type OpenWallet, useStore } from '../store.js'
import { CreateMultisig } from './CreateMultisig.js'
import { KeyRow } from './KeyRow.js'
import { MultisigRow } from './MultisigRow.js'

/** A wallet may have thousands. */
const pageLength = 100

export function WalletView({ wallet }: { wallet: OpenWallet }) {
  const store = useStore()
  const title = useRef<HTMLHeadingElement>(null)
  const [keys, setKeys] = useState<readonly string[]>()
  const [multisigs, setMultisigs] = useState<readonly Multisig[]>([])
  const [accounts, setAccounts] = useState<ReadonlyMap<string, Account>>(new Map())
  const [balanceProblem, setBalanceProblem] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const [shownCount, setShownCount] = useState(pageLength)
  const [isBusy, setBusy] = useState(false)
  const [isCreating, setCreating] = useState(false)
  const [shownAddress, setShownAddress] = useState<string>()

  const load = useCallback(async () => {
    const [keys, multisigs] = await store.use(wallet.id, ({ handle }) =>
      Promise.all([store.api.keys(handle), store.api.multisigs(handle)]),
    )
    setKeys(keys)
    setMultisigs(multisigs)
    return [...keys.slice(0, shownCount), ...multisigs.map(({ address }) => address)]
  }, [store, wallet.id, shownCount])

  const refresh = useCallback(async () => {
    const addresses = await load()
    if (addresses.length === 0) return
    try {
      if (!(await store.hasNode())) return setBalanceProblem(messageOf(store.node?.message))
      const found = await store.api.accounts(addresses)
      setAccounts(new Map(found.map((account) => [account.address, account])))
      setBalanceProblem(undefined)
    } catch (error) {
      setBalanceProblem(messageOf(error))
    }
  }, [store, load])

  usePolling(refresh, 4_000, [refresh])

  // The form that unlocked it had the focus, and is gone.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) title.current?.focus()
  }, [])

  const generate = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await store.use(wallet.id, ({ handle }) => store.api.generateKey(handle))
      await store.renew(wallet.id)
      await refresh()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  const made = async (): Promise<void> => {
    setCreating(false)
    await refresh().catch(() => {})
  }

  return (
    <section aria-labelledby="wallet-title">
      <div class="section-head">
        <h2 id="wallet-title" ref={title} tabIndex={-1}>
          {store.openName(wallet)}
        </h2>
        <TimeLeft wallet={wallet} />
      </div>

      <div class="section-head">
        <h3>Keys</h3>
        <button type="button" class={keys?.length === 0 ? 'main' : ''} disabled={isBusy} onClick={generate}>
          Generate key
        </button>
      </div>
      <Problem text={problem} />
      {balanceProblem !== undefined && (
        <p class="aside">
          <b>Balances are not shown.</b> {balanceProblem}
        </p>
      )}
      {keys?.length === 0 && <p class="empty">There is no key yet. Each key is an address that can hold money.</p>}
      <ul class="rows">
        {keys?.slice(0, shownCount).map((address) => (
          <KeyRow key={address} address={address} account={accounts.get(address)} onShow={setShownAddress} />
        ))}
      </ul>
      {(keys?.length ?? 0) > shownCount && (
        <button type="button" onClick={() => setShownCount(shownCount + pageLength)}>
          Show more of the {keys?.length} keys
        </button>
      )}

      <div class="section-head">
        <h3>Multisig accounts</h3>
        <button type="button" onClick={() => setCreating(true)}>
          Create multisig
        </button>
      </div>
      {multisigs.length === 0 && (
        <p class="empty">None. A multisig account is moved only when several keys sign together.</p>
      )}
      <ul class="rows">
        {multisigs.map((multisig) => (
          <MultisigRow
            key={multisig.address}
            multisig={multisig}
            keys={keys ?? []}
            account={accounts.get(multisig.address)}
            onShow={setShownAddress}
          />
        ))}
      </ul>

      {shownAddress !== undefined && <QrDialog address={shownAddress} onClose={() => setShownAddress(undefined)} />}
      {isCreating && (
        <CreateMultisig wallet={wallet} keys={keys ?? []} onClose={() => setCreating(false)} onCreated={made} />
      )}
    </section>
  )
}

function TimeLeft({ wallet }: { wallet: OpenWallet }) {
  const store = useStore()
  const [, draw] = useState(0)
  useSecond(draw)
  const seconds = Math.max(0, Math.ceil((wallet.expiresAtMs - Date.now()) / 1000))
  const stay = (): void => {
    store.renew(wallet.id).catch((error) => {
      const message = messageOf(error)
      if (message !== undefined) store.tell(message, { isProblem: true })
    })
  }
  return (
    <p class="time-left">
      <span class={seconds <= 10 ? 'soon' : ''} role="timer">
        {Number.isFinite(seconds) ? `locks in ${formatDuration(seconds)}` : ''}
      </span>
      <button type="button" onClick={stay}>
        Stay unlocked
      </button>
      <button type="button" onClick={() => void store.lock(wallet.id)}>
        Lock
      </button>
    </p>
  )
}

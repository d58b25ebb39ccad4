/** The first screen: waiting approvals, next actions, agents, balances, and the last payments. */

import { useCallback, useState } from 'preact/hooks'
import { loadAccounts } from '../accounts.js'
import { useAct } from '../act.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { errorMessage } from '../messages.js'
import { formatMoney } from '../model/amount.js'
import { networkTitle } from '../model/network.js'
import { nextActions, type Total, totals } from '../model/overview.js'
import { usePaymentsPolling } from '../paymentsPolling.js'
import { usePolling } from '../polling.js'
import type { Account, Wallet } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { type Store, useStore } from '../store.js'
import { CreatingWallet, EarlierPayments, OverviewAgents, OverviewApprovals } from './lazyOverview.js'
import { NextActions } from './NextActions.js'
import { PaymentRow } from './PaymentRow.js'
import { WalletState } from './WalletState.js'

/** The node would take too long to return the balances of more addresses. */
const maxAddresses = 300
const recentCount = 5

export function OverviewView() {
  const store = useStore()
  const act = useAct()
  const [isCreating, setCreating] = useState(false)
  const [error, setError] = useState<string>()
  const { accounts, balanceError } = useBalances(store)
  usePaymentsPolling(4_000)
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
  const unlocked = store.openWallets.map(({ id }) => ({ walletId: id, keys: store.contents(id)?.keys }))
  const actions =
    wallets === undefined
      ? []
      : nextActions({
          walletIds: wallets.map(({ id }) => id),
          pendingBackups: store.pendingBackups,
          unlocked,
          node: store.node,
          accounts,
          unconfirmedCount: store.node?.isReachable === true ? store.payments.unconfirmedCount(Date.now()) : 0,
        })
  return (
    <section aria-labelledby="overview-title">
      <Heading id="overview-title">Overview</Heading>
      <ErrorText text={error} />
      {/* Only then is its code needed. */}
      {(store.openApprovals?.length ?? 0) > 0 && <OverviewApprovals />}
      {wallets !== undefined && (
        <>
          <NextActions actions={actions} act={act} onCreate={() => setCreating(true)} />
          <div class={wallets.length > 0 ? 'columns' : undefined}>
            {wallets.length > 0 && (
              <div>
                <OverviewAgents />
              </div>
            )}
            <div>
              {wallets.length > 0 && <Totals wallets={wallets} accounts={accounts} balanceError={balanceError} />}
              <div class="section-head">
                <h2>Wallets</h2>
                {wallets.length > 0 && (
                  <button type="button" onClick={() => setCreating(true)}>
                    Create wallet
                  </button>
                )}
              </div>
              <WalletRows wallets={wallets} accounts={accounts} />
            </div>
          </div>
        </>
      )}
      <Recent />
      <NodeLine />
      {isCreating && <CreatingWallet onClose={() => setCreating(false)} />}
    </section>
  )
}

/** The balances of the addresses in unlocked wallets. */
function useBalances(store: Store): {
  accounts: ReadonlyMap<string, Account> | undefined
  balanceError: string | undefined
} {
  const [accounts, setAccounts] = useState<ReadonlyMap<string, Account>>()
  const [balanceError, setBalanceError] = useState<string>()
  const load = useCallback(async () => {
    const all = await Promise.allSettled(store.openWallets.map(({ id }) => store.loadContents(id)))
    const contents = all.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
    const addresses = contents.flatMap(({ keys, multisigs }) => [...keys, ...multisigs.map(({ address }) => address)])
    if (!(await store.hasNode())) return setAccounts(undefined)
    try {
      const loaded = await loadAccounts(store.daemon, [...new Set(addresses)].slice(0, maxAddresses))
      setAccounts(new Map(loaded.map((account) => [account.address, account])))
      setBalanceError(undefined)
    } catch (caught) {
      setBalanceError(errorMessage(caught))
    }
  }, [store])
  usePolling(load, 5_000, [load, store.openWallets.map(({ handle }) => handle).join()])
  return { accounts, balanceError }
}

type BalanceProps = { wallets: readonly Wallet[]; accounts: ReadonlyMap<string, Account> | undefined }

function Totals({ wallets, accounts, balanceError }: BalanceProps & { balanceError: string | undefined }) {
  const store = useStore()
  const lockedCount = wallets.filter(({ id }) => store.openWallet(id) === undefined).length
  const isOpen = lockedCount < wallets.length
  const contents = store.openWallets.map(({ id }) => store.contents(id))
  const keys = contents.flatMap((one) => one?.keys ?? [])
  const multisigs = contents.flatMap((one) => one?.multisigs ?? []).map(({ address }) => address)
  const addressCount = new Set([...keys, ...multisigs]).size
  const held = (addresses: readonly string[]): Account[] =>
    addresses.map((address) => accounts?.get(address)).filter((account) => account !== undefined)
  return (
    <>
      <div class="section-head">
        <h2>Balances</h2>
        <span class="actions">
          <a class="button" href={hrefOf({ view: 'send', address: undefined, assetId: undefined })}>
            Send
          </a>
          <a class="button" href={hrefOf({ view: 'receive', address: undefined, assetId: undefined })}>
            Receive
          </a>
        </span>
      </div>
      {isOpen && accounts !== undefined && <TotalList list={totals(held(keys))} name="Total in unlocked wallets" />}
      {isOpen && accounts !== undefined && held(multisigs).length > 0 && (
        <p class="soft">
          In multisig accounts, shared with others:{' '}
          {totals(held(multisigs))
            .map((one) => formatMoney(one.amount, one, store.dollarIds))
            .join(', ')}
        </p>
      )}
      {balanceError !== undefined && (
        <p class="aside">
          <b>Balances are not available.</b> {balanceError}
        </p>
      )}
      <p class="soft small">
        {lockedCount > 0 &&
          `Not counted: ${lockedCount} locked ${lockedCount === 1 ? 'wallet' : 'wallets'}. The daemon shows a wallet’s addresses only while it is unlocked.`}
        {lockedCount === 0 && addressCount <= maxAddresses && 'All wallets are counted.'}
        {addressCount > maxAddresses && ` Only the first ${maxAddresses} of ${addressCount} addresses are counted.`}
      </p>
    </>
  )
}

function TotalList({ list, name }: { list: readonly Total[]; name: string }) {
  const { dollarIds } = useStore()
  return (
    <ul class="balance totals" aria-label={name}>
      {list.map((total) => (
        <li key={total.assetId} class={total.assetId === '0' || dollarIds.includes(total.assetId) ? 'algos' : ''}>
          {formatMoney(total.amount, total, dollarIds)}
          {total.unitName !== '' && <span class="soft"> ({total.assetId})</span>}
        </li>
      ))}
    </ul>
  )
}

function WalletRows({ wallets, accounts }: BalanceProps) {
  const store = useStore()
  if (wallets.length === 0) return <p class="empty">No wallets yet.</p>
  return (
    <ul class="wallet-list">
      {wallets.map((wallet) => {
        const contents = store.contents(wallet.id)
        const held = contents?.keys.map((address) => accounts?.get(address)).filter((account) => account !== undefined)
        return (
          <li key={wallet.id}>
            <a href={hrefOf({ view: 'wallets', walletId: wallet.id })}>
              <span>
                <span class="name">{store.displayName(wallet)}</span>
                {contents !== undefined && (
                  <span class="soft small">
                    {' '}
                    {contents.keys.length} {contents.keys.length === 1 ? 'key' : 'keys'}
                    {accounts !== undefined && `, ${mainTotals(held ?? [], store.dollarIds)}`}
                  </span>
                )}
              </span>
              <WalletState wallet={wallet} />
            </a>
          </li>
        )
      })}
    </ul>
  )
}

/** Formats the accounts' total balances in ALGO and in dollars. */
function mainTotals(accounts: readonly Account[], dollarIds: readonly string[]): string {
  return totals(accounts)
    .filter(({ assetId }) => assetId === '0' || dollarIds.includes(assetId))
    .map((one) => formatMoney(one.amount, one, dollarIds))
    .join(', ')
}

function Recent() {
  const { payments } = useStore()
  const entries = payments.newestFirst.filter(({ program }) => program === '').slice(0, recentCount)
  const earlierCount = recentCount - entries.length
  return (
    <>
      {entries.length > 0 && (
        <>
          <div class="section-head">
            <h2>Last payments</h2>
            <a href={hrefOf({ view: 'payments' })}>All payments</a>
          </div>
          <ol class="rows payments" aria-label="Last payments, newest first">
            {entries.map((entry) => (
              <PaymentRow
                key={entry.number}
                entry={entry}
                status={payments.status(entry.transactionId)}
                isFound={false}
              />
            ))}
          </ol>
        </>
      )}
      {payments.sinceMs > 0 && earlierCount > 0 && (
        <EarlierPayments
          beforeMs={payments.firstMs}
          count={earlierCount}
          title={entries.length > 0 ? '' : 'Last payments'}
          hasMore={false}
        />
      )}
    </>
  )
}

function NodeLine() {
  const { node } = useStore()
  if (node === undefined) return null
  return (
    <>
      <h2>Node</h2>
      <p class="node-line">
        {node.isReachable ? (
          <>
            <span class="status-good">{networkTitle(node.network)}</span>{' '}
            <span class="soft">round {node.lastRound.toLocaleString('en')}</span>
          </>
        ) : (
          <span class={node.isSet ? 'status-bad' : 'status-open'}>
            {node.isSet ? 'not reachable' : 'not configured'}
          </span>
        )}{' '}
        <a href={hrefOf({ view: 'settings' })}>Status</a>
      </p>
    </>
  )
}

/** Reviews transactions, selects the signer of each, and signs. */

import { useCallback, useRef, useState } from 'preact/hooks'
import { loadAccounts, loadContents } from '../accounts.js'
import { type Act, useAct } from '../act.js'
import { ActPassword } from '../components/ActPassword.js'
import { ErrorText } from '../components/ErrorText.js'
import { UnlockInView } from '../components/UnlockInView.js'
import { hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import { foreignNetwork } from '../model/foreignNetwork.js'
import { chooseNetwork, networkTitle } from '../model/network.js'
import { isMainnet, multisigOf } from '../model/signedTransaction.js'
import {
  type SelectedSigner,
  type SignerOptions,
  selectSigner,
  signerOptions,
  type WalletContents,
  willSign,
} from '../model/signerOptions.js'
import { usePolling } from '../polling.js'
import type { Account } from '../responseTypes.js'
import { type ReviewedTransaction, signAll } from '../signing.js'
import { type Store, useStore } from '../store.js'
import { isConfirmed, RealMoneyConfirmation, WarningConfirmation } from './Confirmations.js'
import { TransactionCard } from './TransactionCard.js'

type Props = {
  transactions: readonly ReviewedTransaction[]
  groupWarnings: readonly string[]
  /** The label of the button if the transactions are sent right after signing. @default they are only signed */
  submitLabel?: string
  /** An act that has already begun and may hold the password. @default a new act */
  act?: Act
  onSigned: (signed: readonly Uint8Array[]) => void
  onCancel: () => void
}

type LoadedWallet = WalletContents & { walletId: string; accounts: ReadonlyMap<string, Account> }

export function SignForm({ transactions, groupWarnings, submitLabel, act: begun, onSigned, onCancel }: Props) {
  const store = useStore()
  const ownAct = useAct()
  const act = begun ?? ownAct
  const isSigning = useRef(false)
  const [selectedId, setSelectedId] = useState<string>()
  const [loaded, setLoaded] = useState<readonly LoadedWallet[]>([])
  const [changes, setChanges] = useState<{ [index: number]: SelectedSigner }>({})
  const [confirmation, setConfirmation] = useState('')
  const [isRealMoney, setRealMoney] = useState(false)
  const [error, setError] = useState<string>()
  const [passwordError, setPasswordError] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const load = useCallback(async () => setLoaded(await loadWallets(store, transactions)), [store, transactions])
  usePolling(load, 5_000, [load, store.openWallets.map(({ handle }) => handle).join()])

  const open = loaded.filter(({ walletId }) => store.openWallet(walletId) !== undefined)
  const wallet = open.find(({ walletId }) => walletId === selectedId) ?? firstAble(open, transactions) ?? open[0]
  const unlockedWallet = wallet === undefined ? undefined : store.openWallet(wallet.walletId)
  const isGroup = transactions.length > 1
  const foreign = transactions
    .map(({ description }) => foreignNetwork(description.transaction, store.node))
    .find((name) => name !== undefined)
  const signers = wallet === undefined ? [] : transactions.map((one) => optionsFor(one, wallet, isGroup))
  const selected = signers.map((options, index) => changes[index] ?? selectSigner(options, options.suggestedId))
  const signedCount = selected.filter(willSign).length
  const isSelected = signedCount > 0 && selected.every(({ method }) => method !== undefined)
  const own = new Set(open.flatMap(({ keys, multisigs }) => [...keys, ...multisigs.map(({ address }) => address)]))
  // Effects that are irreversible, or outside of what is shown here, need more than a click.
  const warnings = [...groupWarnings, ...transactions.flatMap(({ description }) => description.finalWarnings)]

  const needsRealMoney =
    submitLabel !== undefined && transactions.some(({ description }) => isMainnet(description.transaction))

  const sign = async (event: Event): Promise<void> => {
    event.preventDefault()
    // A second click may come before the button is drawn as disabled.
    if (wallet === undefined || isSigning.current) return
    isSigning.current = true
    setBusy(true)
    setError(undefined)
    setPasswordError(undefined)
    const secret = act.password(wallet.walletId)
    try {
      const tasks = selected.map(({ method, members }, index) => ({
        ...transactions[index]!,
        method: method ?? ({ kind: 'skip' } as const),
        members,
      }))
      const signed = await store.withHandle(wallet.walletId, ({ handle }) =>
        signAll({ daemon: store.daemon, handle, password: secret, tasks }),
      )
      act.clear()
      onSigned(signed)
    } catch (caught) {
      if (hasCode(caught, 'wrong_password')) {
        act.clear()
        setPasswordError('Wrong password.')
      } else setError(errorMessage(caught))
      isSigning.current = false
      setBusy(false)
      act.field.current?.focus()
    }
  }

  return (
    <form onSubmit={sign}>
      {open.length > 1 && (
        <div class="field narrow">
          <label for="sign-wallet">Wallet</label>
          <select
            id="sign-wallet"
            value={wallet?.walletId}
            onChange={(event) => {
              setSelectedId(event.currentTarget.value)
              setChanges({})
            }}
          >
            {open.map((one) => (
              <option key={one.walletId} value={one.walletId}>
                {walletName(store, one)}
              </option>
            ))}
          </select>
        </div>
      )}
      {groupWarnings.length > 0 && (
        <ul class="warnings">
          {groupWarnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {foreign !== undefined && (
        <p class="cautions">
          <b>
            This is for {foreign}, and the daemon’s node is on {networkTitle(store.node?.network ?? '')}.
          </b>{' '}
          You can sign it here, but balances, asset names and status are from the other network. {chooseNetwork}
        </p>
      )}
      {transactions.map(({ description }, index) => (
        <TransactionCard
          key={description.transactionId}
          description={description}
          position={isGroup ? `${index + 1} of ${transactions.length}` : ''}
          signers={signers[index]}
          own={own}
          selected={selected[index]}
          onSelect={(signer) => setChanges({ ...changes, [index]: signer })}
        />
      ))}
      {unlockedWallet !== undefined && <ActPassword act={act} wallet={unlockedWallet} error={passwordError} />}
      {(unlockedWallet === undefined || signedCount === 0) && (
        <UnlockInView
          act={act}
          purpose={open.length === 0 ? 'to sign this' : 'that has a key for this'}
          onUnlocked={({ id }) => setSelectedId(id)}
        />
      )}
      {warnings.length > 0 && (
        <WarningConfirmation count={warnings.length} value={confirmation} onChange={setConfirmation} />
      )}
      {needsRealMoney && <RealMoneyConfirmation isChecked={isRealMoney} onChange={setRealMoney} />}
      <ErrorText text={error} />
      <p class="actions">
        <button
          type="submit"
          class={warnings.length > 0 ? 'main danger' : 'main'}
          disabled={
            isBusy ||
            !isSelected ||
            (warnings.length > 0 && !isConfirmed(confirmation)) ||
            (needsRealMoney && !isRealMoney)
          }
        >
          {isBusy ? 'Signing…' : (submitLabel ?? (signedCount > 1 ? `Sign ${signedCount} transactions` : 'Sign'))}
        </button>
        <button type="button" onClick={onCancel}>
          {submitLabel === undefined ? 'Do not sign' : 'Back'}
        </button>
      </p>
    </form>
  )
}

function walletName(store: Store, loaded: LoadedWallet | undefined): string {
  const wallet = loaded === undefined ? undefined : store.openWallet(loaded.walletId)
  return wallet === undefined ? '' : store.displayName(wallet)
}

/**
 * Loads the contents of each unlocked wallet, and the senders' accounts, which name the key that signs for a sender.
 */
async function loadWallets(store: Store, transactions: readonly ReviewedTransaction[]): Promise<LoadedWallet[]> {
  const senders = [...new Set(transactions.map(({ description }) => description.sender))]
  // Without a node, rekeyed senders are unknown, but the person can still choose the key.
  const found = (await store.hasNode()) ? await loadAccounts(store.daemon, senders).catch(() => []) : []
  const accounts = new Map(found.map((account) => [account.address, account]))
  const all = await Promise.allSettled(
    store.openWallets.map(({ id }) =>
      store.withHandle(id, async ({ handle }) => {
        return { walletId: id, ...(await loadContents(store.daemon, handle)), accounts }
      }),
    ),
  )
  return all.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
}

function optionsFor(
  { description, original }: ReviewedTransaction,
  wallet: LoadedWallet,
  isInGroup: boolean,
): SignerOptions {
  const partial = description.isSigned ? multisigOf(original) : undefined
  const account = wallet.accounts.get(description.sender)
  return signerOptions({ description, partial, contents: wallet, account, isInGroup })
}

/** The first wallet that can sign at least one of the transactions. */
function firstAble(
  open: readonly LoadedWallet[],
  transactions: readonly ReviewedTransaction[],
): LoadedWallet | undefined {
  return open.find((wallet) =>
    transactions.some((one) => {
      const { suggestedId } = optionsFor(one, wallet, transactions.length > 1)
      return suggestedId !== undefined && suggestedId !== 'skip'
    }),
  )
}

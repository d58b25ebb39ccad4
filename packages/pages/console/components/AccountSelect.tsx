/** Selects one of the accounts of the unlocked wallets. */
import { useId } from 'preact/hooks'
import { formatAlgos, formatMoney } from '../model/amount.js'
import { shortAddress } from '../model/shortAddress.js'
import type { OwnAccount } from '../ownAccounts.js'
import type { Account } from '../responseTypes.js'
import { useStore } from '../store.js'

type Props = {
  label: string
  accounts: readonly OwnAccount[]
  /** Undefined if the selected account is not available. */
  selected: OwnAccount | undefined
  error?: string | undefined
  /** Whether the view itself shows the whole address. @default false */
  isAddressShown?: boolean
  onSelect: (address: string) => void
}

export function AccountSelect({ label, accounts, selected, error, isAddressShown = false, onSelect }: Props) {
  const store = useStore()
  const id = useId()
  const wallets = [...new Map(accounts.map(({ walletId, walletName }) => [walletId, walletName]))]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={selected?.address ?? ''}
        aria-describedby={`${id}-error`}
        aria-invalid={error !== undefined}
        onChange={(event) => onSelect(event.currentTarget.value)}
      >
        {selected === undefined && (
          <option value="" disabled>
            Choose an account
          </option>
        )}
        {wallets.map(([walletId, walletName]) => (
          <optgroup key={walletId} label={walletName}>
            {accounts
              .filter((one) => one.walletId === walletId)
              .map((one) => (
                <option key={one.address} value={one.address}>
                  {optionText(one, store.labelOf(one.address))}
                </option>
              ))}
            <LeftOut accounts={accounts} walletId={walletId} />
          </optgroup>
        ))}
      </select>
      {selected !== undefined && !isAddressShown && (
        <p class="hint">
          <code class="address">{selected.address}</code>
          <Dollars account={selected.account} />
        </p>
      )}
      {selected === undefined && (
        <p class="hint">The chosen account is not available: its wallet is locked, or no longer has it.</p>
      )}
      <p class="error" id={`${id}-error`} role="alert">
        {error}
      </p>
    </div>
  )
}

/** On a phone, an option has no room for them. */
function Dollars({ account }: { account: Account | undefined }) {
  const { dollarIds } = useStore()
  const held = account?.assets.filter(({ assetId }) => dollarIds.includes(assetId)) ?? []
  return held.map((asset) => (
    <>
      <br />
      {formatMoney(asset.amount, asset, dollarIds)} ({asset.assetId})
    </>
  ))
}

/** The wallet's own page lists all accounts. */
function LeftOut({ accounts, walletId }: { accounts: readonly OwnAccount[]; walletId: string }) {
  const leftOut = accounts.find((one) => one.walletId === walletId)?.leftOut ?? 0
  return leftOut === 0 ? null : <option disabled>{leftOut} more accounts: choose one on the wallet’s page</option>
}

function optionText({ address, account, isMultisig }: OwnAccount, label: string): string {
  const balance = account === undefined ? '' : ` – ${formatAlgos(account.microAlgos)}`
  const name = label === '' ? shortAddress(address) : `${label}, ${shortAddress(address)}`
  return `${name}${isMultisig ? ' (multisig)' : ''}${balance}`
}

/** One address with its balance, and buttons to copy and show it. */
import { AddressText, ShortAddress } from '../components/AddressText.js'
import { CopyButton } from '../components/CopyButton.js'
import { ExplorerLink } from '../components/ExplorerLink.js'
import { scrollTo } from '../components/scrollTo.js'
import { formatAlgos, formatMoney } from '../model/amount.js'
import { shortAddress } from '../model/shortAddress.js'
import type { Account } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { FaucetButton } from './Faucet.js'

type Props = {
  address: string
  account: Account | undefined
  /** Whether it is a search result. */
  isFound: boolean
  onFunded: () => Promise<void>
  onLabel: (address: string) => void
}

export function KeyRow(props: Props) {
  return (
    <li class={props.isFound ? 'found' : undefined} ref={props.isFound ? scrollTo : null}>
      <AddressLine {...props} />
      <Balance account={props.account} />
    </li>
  )
}

const actions = [
  ['send', 'Send'],
  ['receive', 'Receive'],
  ['opt-in', 'Opt in'],
] as const

export function AddressLine({ address, onFunded, onLabel }: Pick<Props, 'address' | 'onFunded' | 'onLabel'>) {
  const isLabelled = useStore().labelOf(address) !== ''
  const what = shortAddress(address)
  return (
    <div class="address-line">
      <span>
        <AddressText address={address} />
      </span>
      <span class="actions">
        <CopyButton text={address} what={`address ${shortAddress(address)}`} />
        {actions.map(([view, name]) => (
          <a key={view} class="button quiet" href={hrefOf({ view, address, assetId: undefined })}>
            {name}
            <span class="visually-hidden"> with {what}</span>
          </a>
        ))}
        <button type="button" class="quiet" onClick={() => onLabel(address)}>
          {isLabelled ? 'Change label' : 'Label'}
          <span class="visually-hidden"> of {shortAddress(address)}</span>
        </button>
        <FaucetButton address={address} what={what} onFunded={onFunded} />
      </span>
    </div>
  )
}

export function Balance({ account }: { account: Account | undefined }) {
  const { dollarIds } = useStore()
  if (account === undefined) return null
  return (
    <>
      <ul class="balance" aria-label="Balance">
        <li class="algos">{formatAlgos(account.microAlgos)}</li>
        {account.assets.map((asset) => (
          <li key={asset.assetId}>
            {formatMoney(asset.amount, asset, dollarIds)}
            {asset.unitName !== '' && (
              <span class="soft">
                {' '}
                (
                <ExplorerLink kind="asset" id={asset.assetId}>
                  {asset.assetId}
                </ExplorerLink>
                )
              </span>
            )}
            {asset.isFrozen && <span class="tag">frozen</span>}
          </li>
        ))}
      </ul>
      {account.rekeyedTo !== '' && (
        <p class="aside">
          <b>Rekeyed.</b> This key no longer signs for its address. The signing key is{' '}
          <ShortAddress address={account.rekeyedTo} />.
        </p>
      )}
      <p class="soft small">Minimum balance: {formatAlgos(account.minMicroAlgos)}</p>
    </>
  )
}

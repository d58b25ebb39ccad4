/** One address with its balance, and buttons to copy and show it. */
import { AddressText, ShortAddress } from '../components/AddressText.js'
import { CopyButton } from '../components/CopyButton.js'
import { format, formatAlgos, unitOf } from '../model/amount.js'
import { shortAddress } from '../model/shortAddress.js'
import type { Account } from '../responses.js'
import { useStore } from '../store.js'

type Props = {
  address: string
  account: Account | undefined
  /** Whether a search led to it. */
  isFound: boolean
  onShow: (address: string) => void
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

/** Shows the address that a search led to. */
export function scrollTo(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' })
}

export function AddressLine({ address, onShow, onLabel }: Pick<Props, 'address' | 'onShow' | 'onLabel'>) {
  const isLabelled = useStore().labelOf(address) !== ''
  return (
    <div class="address-line">
      <span>
        <AddressText address={address} />
      </span>
      <span class="actions">
        <CopyButton text={address} what={`address ${shortAddress(address)}`} />
        <button type="button" class="quiet" onClick={() => onShow(address)}>
          QR code<span class="visually-hidden"> of {shortAddress(address)}</span>
        </button>
        <button type="button" class="quiet" onClick={() => onLabel(address)}>
          {isLabelled ? 'Change label' : 'Label'}
          <span class="visually-hidden"> of {shortAddress(address)}</span>
        </button>
      </span>
    </div>
  )
}

export function Balance({ account }: { account: Account | undefined }) {
  if (account === undefined) return null
  return (
    <>
      <ul class="balance" aria-label="Balance">
        <li class="algos">{formatAlgos(account.microAlgos)}</li>
        {account.assets.map((asset) => (
          <li key={asset.assetId}>
            {format(asset.amount, asset.decimals)} {unitOf(asset)}
            {asset.unitName !== '' && <span class="soft"> ({asset.assetId})</span>}
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

/** One address: what it holds, and how to give it to others. */

import { AddressText } from '../components/AddressText.js'
import { CopyButton } from '../components/CopyButton.js'
import { format, formatAlgo, unitOf } from '../model/amounts.js'
import { shorten } from '../model/signers.js'
import type { Account } from '../responses.js'

type Props = { address: string; account: Account | undefined; onShow: (address: string) => void }

export function KeyRow(props: Props) {
  return (
    <li>
      <AddressLine {...props} />
      <Balance account={props.account} />
    </li>
  )
}

export function AddressLine({ address, onShow }: Pick<Props, 'address' | 'onShow'>) {
  return (
    <div class="address-line">
      <AddressText address={address} />
      <span class="actions">
        <CopyButton text={address} what={`address ${shorten(address)}`} />
        <button type="button" class="quiet" onClick={() => onShow(address)}>
          QR code<span class="unseen"> of {shorten(address)}</span>
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
        <li class="algos">{formatAlgo(account.microAlgos)}</li>
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
          <b>Rekeyed.</b> This key no longer signs for its address; {shorten(account.rekeyedTo)} does.
        </p>
      )}
      <p class="soft small">
        {account.microAlgos === '0' ? 'needs at least ' : ''}
        {formatAlgo(account.minMicroAlgos)}
        {account.microAlgos === '0' ? '' : ' of it must stay'}
      </p>
    </>
  )
}

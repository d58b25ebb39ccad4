/** An address with the owner's label for it. The address itself is always shown: the label is only a help to read it. */
import { shortAddress } from '../model/shortAddress.js'
import { useStore } from '../store.js'
import { ExplorerLink } from './ExplorerLink.js'

/** A full address, with both ends in bold: people compare those. On a public network it links to the explorer. */
export function AddressText({ address }: { address: string }) {
  return (
    <>
      <Label address={address} />
      <ExplorerLink kind="account" id={address}>
        <code class="address" translate={false}>
          <b>{address.slice(0, 6)}</b>
          {address.slice(6, -6)}
          <b>{address.slice(-6)}</b>
        </code>
      </ExplorerLink>
    </>
  )
}

/** The two ends of an address, for lists. */
export function ShortAddress({ address }: { address: string }) {
  return (
    <>
      <Label address={address} />
      <ExplorerLink kind="account" id={address}>
        <code title={address} translate={false}>
          {shortAddress(address)}
        </code>
      </ExplorerLink>
    </>
  )
}

function Label({ address }: { address: string }) {
  const label = useStore().labelOf(address)
  if (label === '') return null
  return (
    <>
      <bdi class="label" translate={false}>
        {label}
      </bdi>{' '}
    </>
  )
}

/** An address with the owner's label. The address is always shown, because the label is only a reading aid. */
import { shortAddress } from '../model/shortAddress.js'
import { useStore } from '../store.js'
import { ExplorerLink } from './ExplorerLink.js'

/**
 * A full address with both ends in bold, because people compare those. On a public network it links to the explorer.
 */
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

/** A full address, with both ends in bold: people compare those. */
export function AddressText({ address }: { address: string }) {
  return (
    <code class="address" translate={false}>
      <b>{address.slice(0, 6)}</b>
      {address.slice(6, -6)}
      <b>{address.slice(-6)}</b>
    </code>
  )
}

/** An address in full. People compare both ends, so these stand out. */
export function AddressText({ address }: { address: string }) {
  return (
    <code class="address" translate={false}>
      <b>{address.slice(0, 6)}</b>
      {address.slice(6, -6)}
      <b>{address.slice(-6)}</b>
    </code>
  )
}

/** A sentence about a transaction. Formats its addresses and marks those of the unlocked wallets. */
import { AddressText, ShortAddress } from './AddressText.js'

type Props = { text: string; own?: ReadonlySet<string>; isShort?: boolean }

export function Description({ text, own, isShort = false }: Props) {
  return text.split(/([A-Z2-7]{58})/).map((part, index) => {
    if (index % 2 === 0) return part
    if (isShort) {
      return <ShortAddress key={index} address={part} />
    }
    return (
      <span key={index}>
        <AddressText address={part} />
        {own?.has(part) && <span class="tag">yours</span>}
      </span>
    )
  })
}

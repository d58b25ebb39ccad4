/** A sentence about a transaction, with its addresses set as addresses, and those of the unlocked wallets marked. */
import { shorten } from '../model/signers.js'
import { AddressText } from './AddressText.js'

type Props = { text: string; own?: ReadonlySet<string>; isShort?: boolean }

export function Description({ text, own, isShort = false }: Props) {
  return text.split(/([A-Z2-7]{58})/).map((part, index) => {
    if (index % 2 === 0) return part
    if (isShort) {
      return (
        <code key={index} title={part}>
          {shorten(part)}
        </code>
      )
    }
    return (
      <span key={index}>
        <AddressText address={part} />
        {own?.has(part) && <span class="tag">yours</span>}
      </span>
    )
  })
}

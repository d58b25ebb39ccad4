/** A sentence about a transaction. Formats its addresses and assets, and marks those of the unlocked wallets. */
import { AddressText, ShortAddress } from './AddressText.js'
import { ExplorerLink } from './ExplorerLink.js'

type Props = { text: string; own?: ReadonlySet<string>; isShort?: boolean }

export function Description({ text, own, isShort = false }: Props) {
  return text.split(/([A-Z2-7]{58}|\basset \d{1,20}\b)/).map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith('asset ')) {
      return (
        <ExplorerLink key={index} kind="asset" id={part.slice('asset '.length)}>
          {part}
        </ExplorerLink>
      )
    }
    if (isShort) return <ShortAddress key={index} address={part} />
    return (
      <span key={index}>
        <AddressText address={part} />
        {own?.has(part) && <span class="tag">yours</span>}
      </span>
    )
  })
}

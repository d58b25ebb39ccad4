/** The addresses that the page can offer: those of unlocked wallets, and those in the address book. */
import { Address } from '@latchkey/algorand'

export type KnownAddress = {
  address: string
  /** The owner's own word for it; blank if it has none. */
  label: string
  /** The name of the unlocked wallet that has its key; blank for an address of others. */
  walletName: string
  /** Blank for an address of others. */
  walletId: string
}

export type WalletAddresses = { walletId: string; walletName: string; addresses: readonly string[] }

/** The own addresses first, wallet by wallet, then the address book by label. */
export function knownAddresses(
  wallets: readonly WalletAddresses[],
  labels: ReadonlyMap<string, string>,
): KnownAddress[] {
  const known = new Map<string, KnownAddress>()
  for (const { walletId, walletName, addresses } of wallets) {
    for (const address of addresses) {
      if (!known.has(address)) known.set(address, { address, label: labels.get(address) ?? '', walletName, walletId })
    }
  }
  for (const [address, label] of labels) {
    if (!known.has(address)) known.set(address, { address, label, walletName: '', walletId: '' })
  }
  return [...known.values()]
}

/** Those that a text may mean: a part of the label or of the wallet's name, or either end of the address. */
export function matching(known: readonly KnownAddress[], text: string): KnownAddress[] {
  const wanted = comparable(text)
  if (wanted === '') return [...known]
  return known.filter(({ address, label, walletName }) => {
    if (comparable(label).includes(wanted) || comparable(walletName).includes(wanted)) return true
    const letters = address.toLowerCase()
    // The middle of an address is nothing that people look for; a part of it would only find the wrong ones.
    return letters.startsWith(wanted) || letters.endsWith(wanted)
  })
}

/** The address that a person typed: the address itself, or the whole label of one. */
export function addressOf(known: readonly KnownAddress[], text: string): string | undefined {
  const typed = text.trim()
  if (Address.isValid(typed)) return typed
  const wanted = comparable(typed)
  const found = wanted === '' ? [] : known.filter(({ label }) => comparable(label) === wanted)
  return found.length === 1 ? found[0]!.address : undefined
}

export function comparable(text: string): string {
  return text.trim().normalize('NFKC').toLowerCase()
}

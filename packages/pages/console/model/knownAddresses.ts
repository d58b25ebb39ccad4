/** The addresses that the page can suggest: those of unlocked wallets, and those in the address book. */
import { Address } from '@latchkey/algorand'

export type KnownAddress = {
  address: string
  /** The owner's label, or empty if there is none. */
  label: string
  /** The name of the unlocked wallet that has the key, or empty for other addresses. */
  walletName: string
  /** Empty for other addresses. */
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

/** Returns the addresses that match a text: a part of the label or the wallet's name, or either end of the address. */
export function matching(known: readonly KnownAddress[], text: string): KnownAddress[] {
  const wanted = comparable(text)
  if (wanted === '') return [...known]
  return known.filter(({ address, label, walletName }) => {
    if (comparable(label).includes(wanted) || comparable(walletName).includes(wanted)) return true
    const letters = address.toLowerCase()
    // People do not search for the middle of an address, so matching it would only add false results.
    return letters.startsWith(wanted) || letters.endsWith(wanted)
  })
}

/** Returns the address that a person typed, either as the address itself or as the complete label of one. */
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

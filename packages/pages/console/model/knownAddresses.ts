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

/** Texts that were meant as an address: a contact with such a name is unlikely. */
const addressLike = /^[A-Za-z0-9]{40,80}$/

/**
 * Explains why a text is neither an address nor, if names are allowed, the label of one. A mistyped or cut off address is
 * named as such, because the person would otherwise look for a missing contact.
 */
export function addressProblem(text: string, { isName = true }: { isName?: boolean } = {}): string {
  const typed = text.trim()
  if (!addressLike.test(typed)) {
    return isName
      ? 'This is neither an address nor a name in the address book. An address has 58 letters and digits.'
      : 'This is not an address. An address has 58 letters and digits.'
  }
  if (typed.length !== 58) return `An address has 58 letters and digits, and this has ${typed.length}. Copy all of it.`
  if (Address.isValid(typed.toUpperCase())) return 'An address has capital letters only.'
  return 'The checksum of this address does not match: at least one character is wrong. Copy the address again.'
}

export function comparable(text: string): string {
  return text.trim().normalize('NFKC').toLowerCase()
}

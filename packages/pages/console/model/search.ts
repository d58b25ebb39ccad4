/** Finds wallets, addresses, labels and signed transactions by a part of their name or id. */
import { Address } from '@latchkey/algorand'
import type { SignatureEntry, Wallet } from '../responseTypes.js'
import { comparable, type KnownAddress, matching } from './knownAddresses.js'

export type SearchResult =
  | { kind: 'wallet'; id: string; name: string }
  | { kind: 'address'; known: KnownAddress }
  | { kind: 'transaction'; entry: SignatureEntry }
  /** An unknown address, which can be given a label. */
  | { kind: 'new-address'; address: string }

export type Searchable = {
  wallets: readonly Wallet[]
  nameOf: (wallet: Wallet) => string
  known: readonly KnownAddress[]
  /** Newest first. */
  entries: readonly SignatureEntry[]
}

const maxPerKind = 6
export const maxQueryLength = 128

export function search(query: string, { wallets, nameOf, known, entries }: Searchable): SearchResult[] {
  const text = comparable(query.slice(0, maxQueryLength))
  if (text === '') return []
  const found: SearchResult[] = wallets
    .map((wallet) => ({ kind: 'wallet' as const, id: wallet.id, name: nameOf(wallet) }))
    .filter(({ id, name }) => comparable(name).includes(text) || id.toLowerCase().startsWith(text))
    .slice(0, maxPerKind)
  const addresses = matching(known, query).slice(0, maxPerKind)
  found.push(...addresses.map((one) => ({ kind: 'address' as const, known: one })))
  found.push(...transactions(text, entries, known))
  const address = query.trim()
  if (Address.isValid(address) && !known.some((one) => one.address === address)) {
    found.push({ kind: 'new-address', address })
  }
  return found
}

/** Finds transactions by id, or by the address or label of a receiver. */
function transactions(
  text: string,
  entries: readonly SignatureEntry[],
  known: readonly KnownAddress[],
): SearchResult[] {
  const labelled = new Set(
    known.filter(({ label }) => label !== '' && comparable(label).includes(text)).map(({ address }) => address),
  )
  const isMeant = ({ transactionId, program, sender, receiver }: SignatureEntry): boolean =>
    [transactionId, program].some((id) => id.toLowerCase().startsWith(text)) ||
    [sender, receiver].some((address) => labelled.has(address) || address.toLowerCase() === text)
  const seen = new Set<string>()
  const found: SearchResult[] = []
  for (const entry of entries) {
    const id = entry.transactionId === '' ? entry.program : entry.transactionId
    if (found.length >= maxPerKind) break
    if (seen.has(id) || !isMeant(entry)) continue
    seen.add(id)
    found.push({ kind: 'transaction', entry })
  }
  return found
}

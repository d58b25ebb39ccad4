/** Payment requests as `algorand://` links (ARC-26), which wallets on a phone read from a QR code. */
import { Address } from '@latchkey/algorand'

export type PaymentRequest = {
  address: string
  /** Undefined for ALGO. */
  assetId?: string | undefined
  /** In base units. */
  units?: bigint | undefined
  note?: string | undefined
}

const scheme = 'algorand://'
const maxLength = 2_000

/** Formats the link. Wallets expect the amount in base units, of the asset if one is named and otherwise of ALGO. */
export function format({ address, assetId, units, note = '' }: PaymentRequest): string {
  const parameters: string[] = []
  if (units !== undefined) parameters.push(`amount=${units}`)
  if (assetId !== undefined) parameters.push(`asset=${assetId}`)
  if (note !== '') parameters.push(`note=${encodeURIComponent(note)}`)
  return `${scheme}${address}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`
}

/** Parses a link. Returns undefined for any other text, and for a link with a member that would be lost. */
export function parse(text: string): PaymentRequest | undefined {
  const link = text.trim()
  if (link.length > maxLength || !link.toLowerCase().startsWith(scheme)) return undefined
  const [address = '', query = ''] = link.slice(scheme.length).split('?', 2)
  if (!Address.isValid(address)) return undefined
  const parameters = new URLSearchParams(query)
  const [units, assetId] = [readUint(parameters.get('amount')), readUint(parameters.get('asset'))]
  if (units === null || assetId === null) return undefined
  const note = parameters.get('xnote') ?? parameters.get('note') ?? undefined
  const isAsset = assetId !== undefined && assetId !== 0n
  return { address, assetId: isAsset ? String(assetId) : undefined, units, note }
}

/** Null for text that is not an unsigned 64-bit integer. */
function readUint(text: string | null): bigint | undefined | null {
  if (text === null || text === '') return undefined
  if (!/^[0-9]{1,20}$/.test(text)) return null
  const value = BigInt(text)
  return value < 2n ** 64n ? value : null
}

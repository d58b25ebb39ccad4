/** The receiver of a payment: an address, or a label of the daemon's address book. */
import { Address, Suggestion } from '@latchkey/algorand'
import { type Kmd, KmdClientError } from '@latchkey/kmd-client'
import { CommandError } from '../errors.js'
import { quoted } from '../format.js'

export type Receiver = {
  readonly address: string
  /** Undefined if the address is not in the address book. */
  readonly label: string | undefined
}

export async function findReceiver(kmd: Kmd, text: string): Promise<Receiver> {
  const contacts = await contactsOf(kmd)
  if (Address.isValid(text)) {
    return { address: text, label: contacts.find(({ address }) => address === text)?.label }
  }
  const [found, another] = contacts.filter(({ label }) => isSameLabel(label, text))
  if (found !== undefined && another === undefined && Address.isValid(found.address)) return found
  const labels = contacts.map(({ label }) => label)
  throw new CommandError(
    'contact_not_found',
    `${quoted(text.slice(0, 80))} is neither an address nor in the address book`,
    {
      hint:
        Suggestion.didYouMean(text.slice(0, 80), labels) ??
        'list the contacts with latchkey contact list; add one with latchkey contact add LABEL ADDRESS',
    },
  )
}

/** Empty for a daemon without an address book. */
async function contactsOf(kmd: Kmd): Promise<readonly { readonly address: string; readonly label: string }[]> {
  try {
    return await kmd.contacts.list()
  } catch (error) {
    if (error instanceof KmdClientError && error.code === 'operation_not_supported') return []
    throw error
  }
}

/** Compares labels like the daemon, so that a text matches at most one of them. */
export function isSameLabel(label: string, text: string): boolean {
  const comparable = (one: string): string => one.normalize('NFKC').trim().replace(/\s+/gu, ' ').toLowerCase()
  return comparable(label) === comparable(text)
}

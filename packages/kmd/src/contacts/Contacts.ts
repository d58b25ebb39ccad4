/** The address book: the owner's labels for addresses of others or of own keys. */
import { Address, Json, VisibleText } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { StateFile } from '../state/StateFile.js'

export type Contact = { readonly address: string; readonly label: string }

export type ContactsOptions = {
  /** @default none: contacts are in memory only */
  file?: string
}

export const maxContacts = 1_000
/** More than all contacts with the longest labels need. */
const maxBytes = 1024 * 1024
const version = 1

type State = { readonly version: number; readonly contacts: readonly Contact[] }

export class Contacts {
  readonly #file: StateFile<State>

  constructor({ file }: ContactsOptions = {}) {
    this.#file = new StateFile({ path: file, maxBytes, empty: { version, contacts: [] }, parse })
  }

  /** All contacts, by label. */
  list(): readonly Contact[] {
    return this.#file.read().contacts
  }

  /**
   * Adds a contact or changes its label. Returns the label as stored.
   *
   * @throws {@link KmdError} `bad_label`, `label_taken`, `too_many_contacts`, `state_file_damaged` or
   * `state_file_not_saved`.
   */
  set(address: string, text: string): string {
    const label = normalizeLabel(text)
    if (label === undefined) throw new KmdError('bad_label')
    const others = this.list().filter((contact) => contact.address !== address)
    const name = comparableLabel(label)
    if (others.some((other) => comparableLabel(other.label) === name)) throw new KmdError('label_taken')
    if (others.length >= maxContacts) throw new KmdError('too_many_contacts')
    this.#save([...others, { address, label }])
    return label
  }

  /** Deletes a contact. Succeeds even if it does not exist. */
  delete(address: string): void {
    const contacts = this.list()
    const left = contacts.filter((contact) => contact.address !== address)
    if (left.length < contacts.length) this.#save(left)
  }

  #save(contacts: readonly Contact[]): void {
    const sorted = contacts.toSorted((a, b) => order(comparableLabel(a.label), comparableLabel(b.label)))
    this.#file.write({ version, contacts: sorted })
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** People may edit the file, so it is trusted as little as a request. */
function parse(json: unknown): State {
  if (!Json.isObject(json) || json['version'] !== version) throw new Error(`its version is not ${version}`)
  const list = json['contacts']
  if (!Array.isArray(list) || list.length > maxContacts)
    throw new Error(`it does not contain a list of at most ${maxContacts} contacts`)
  const contacts = list.map(parseContact)
  for (const member of ['address', 'label'] as const) {
    const values = contacts.map((contact) => (member === 'label' ? comparableLabel(contact.label) : contact.address))
    const seen = new Set<string>()
    for (const [index, value] of values.entries()) {
      if (seen.has(value)) throw new Error(`contact ${index + 1} has the same ${member} as another contact`)
      seen.add(value)
    }
  }
  return { version, contacts }
}

function parseContact(json: unknown, index: number): Contact {
  const { address, label } = Json.isObject(json) ? json : {}
  if (typeof address !== 'string' || !Address.isValid(address)) {
    throw new Error(`the address of contact ${index + 1} is not valid`)
  }
  const normal = typeof label === 'string' ? (normalizeLabel(label) ?? normalizeLabel(withoutBlank(label))) : undefined
  if (normal === undefined) throw new Error(`the label of contact ${index + 1} is not valid`)
  return { address, label: normal }
}

/** Labels are chosen by the owner and shown next to the address in terminals and pages. */
const maxCharacters = 64
/** The maximum length in UTF-16, checked first because bodies may be large. */
const maxLength = 1_000
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/** Returns a label in its stored form; undefined if it is not valid. */
export function normalizeLabel(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const label = text.normalize('NFC').trim().replace(/\s+/gu, ' ')
  if (hasHidden(text.trim()) || !visible.test(label) || [...label].length > maxCharacters) return undefined
  // A label that is an address would be mistaken for the address.
  return Address.isValid(label.toUpperCase()) ? undefined : label
}

/** Replaces the blank characters that earlier versions accepted in labels. */
function withoutBlank(label: string): string {
  return label.replace(/\u2800|\u{1d159}|\u{13441}|\u{13442}|\ufe0f/gu, '\ufffd')
}

/** Control characters, blank ones, and those that reorder surrounding text. The selector of an emoji is harmless. */
function hasHidden(text: string): boolean {
  return VisibleText.replaceHiddenOnScreen(text, '') !== text
}

/** Two labels are equal if people would read them as equal. */
export function comparableLabel(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}

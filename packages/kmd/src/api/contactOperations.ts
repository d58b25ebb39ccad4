/** Operations on the address book. */
import { decodeAddress } from './decodeAddress.js'
import { extraPrefix } from './latchkeyOperations.js'
import { address, addressMember, define, text } from './Operation.js'

const contact = {
  type: 'object',
  name: 'Contact',
  members: [addressMember, { name: 'label', shape: { type: 'string' } }],
} as const

const path = `${extraPrefix}/contact`

export const contactOperations = [
  define({
    id: 'ListContacts',
    method: 'GET',
    path: `${extraPrefix}/contacts`,
    about: 'Lists the address book: the labels that the owner gave to addresses, by label.',
    request: [],
    response: [{ name: 'contacts', shape: { type: 'list', of: contact } }],
    responseName: 'ListContactsResponse',
    errors: ['state_file_damaged'],
    run: ({ contacts }) => ({ contacts: contacts.list() }),
  }),
  define({
    id: 'SetContact',
    method: 'POST',
    path,
    about: 'Gives an address a label, or another label. A label belongs to one address.',
    request: [address, { name: 'label', kind: text, about: '1 to 64 visible characters, in UTF-8' }],
    response: [{ name: 'label', shape: { type: 'string' }, about: 'As it is stored, without spaces around it' }],
    responseName: 'SetContactResponse',
    errors: ['bad_label', 'label_taken', 'too_many_contacts', 'state_file_damaged', 'state_file_not_saved'],
    run: ({ contacts }, input) => {
      decodeAddress(input.address)
      return { label: contacts.set(input.address, input.label.toString('utf8')) }
    },
  }),
  define({
    id: 'DeleteContact',
    method: 'DELETE',
    path,
    about: 'Takes the label of an address away. Deleting one that is not there succeeds.',
    request: [address],
    response: [],
    responseName: 'DeleteContactResponse',
    errors: ['state_file_damaged', 'state_file_not_saved'],
    run: ({ contacts }, input) => {
      decodeAddress(input.address)
      contacts.delete(input.address)
      return {}
    },
  }),
]

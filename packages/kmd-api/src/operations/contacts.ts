/** Operations on the address book. */
import { define, extraPrefix, ownersAlone } from '../Description.js'
import { address, addressMember, text } from '../members.js'

const contact = {
  type: 'object',
  name: 'Contact',
  members: [addressMember, { name: 'label', shape: { type: 'string' } }],
} as const

const path = `${extraPrefix}/contact`

/** Operations on the address book. */
export const contactOperations = {
  ListContacts: define({
    method: 'GET',
    path: `${extraPrefix}/contacts`,
    about: 'Lists the address book: the labels that the owner gave to addresses, by label.',
    request: [],
    response: [{ name: 'contacts', shape: { type: 'list', of: contact } }],
    responseName: 'ListContactsResponse',
    errors: ['state_file_damaged'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  SetContact: define({
    method: 'POST',
    path,
    about: 'Gives an address a label, or another label. A label belongs to one address.',
    request: [address, { name: 'label', kind: text, about: '1 to 64 visible characters, in UTF-8' }],
    response: [{ name: 'label', shape: { type: 'string' }, about: 'The stored label, without surrounding spaces' }],
    responseName: 'SetContactResponse',
    errors: ['bad_label', 'label_taken', 'too_many_contacts', 'state_file_damaged', 'state_file_not_saved'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  DeleteContact: define({
    method: 'DELETE',
    path,
    about: 'Deletes a contact. Deleting a missing contact succeeds.',
    request: [address],
    response: [],
    responseName: 'DeleteContactResponse',
    errors: ['state_file_damaged', 'state_file_not_saved'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
}

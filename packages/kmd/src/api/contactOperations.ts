/** Operations on the address book. */
import type { Implementations } from './Implementation.js'
import { decodeAddress } from './members.js'

export const contactOperations = {
  ListContacts: {
    run: ({ contacts }) => ({ contacts: contacts.list() }),
  },
  SetContact: {
    run: ({ contacts }, input) => {
      decodeAddress(input.address)
      return { label: contacts.set(input.address, input.label.toString('utf8')) }
    },
  },
  DeleteContact: {
    run: ({ contacts }, input) => {
      decodeAddress(input.address)
      contacts.delete(input.address)
      return {}
    },
  },
} satisfies Partial<Implementations>

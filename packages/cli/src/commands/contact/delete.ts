/** `latchkey contact delete LABEL|ADDRESS`: removes a contact. */
import type { Contact } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable, quoted } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'
import { isSameLabel } from '../../money/contacts.js'

export const contactDeleteCommand = command({
  description: 'Remove a contact from the address book. This does not affect the account or its balance.',
  positionals: [{ name: 'LABEL', description: 'label or address of the contact' }],
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey contact delete "Corner shop"'],
  exits: ['unreachable'],
  run: ({ options, args: [given] }) =>
    withDaemon(options, async (kmd) => {
      const contact = find(await kmd.contacts.list(), given!)
      await kmd.contacts.delete(contact)
      if (options.json) printJson({ contact })
      else printMessage(`Removed the contact ${quoted(contact.label)} (${contact.address}).`)
      return exitCodes.ok
    }),
})

/** Labels differ by more than case, so a text matches at most one of them. */
function find(contacts: readonly Contact[], given: string): Contact {
  const found = contacts.find(({ address, label }) => address === given || isSameLabel(label, given))
  if (found !== undefined) return found
  throw new CommandError('contact_not_found', `contact ${printable(given).slice(0, 80)} not found`, {
    hint: 'list the contacts with latchkey contact list',
  })
}

/** `latchkey contact delete LABEL|ADDRESS`: removes a contact. */
import type { Contact } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable, quoted } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'

export const contactDeleteCommand = command({
  description:
    'Takes the label of an address away. Nothing else changes: the address and what it holds stay as they are.',
  positionals: [{ name: 'LABEL', description: 'the label, or the address that has it' }],
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey contact delete "Corner shop"'],
  exits: ['unreachable'],
  run: ({ options, args: [given] }) =>
    withDaemon(options, async (kmd) => {
      const contact = find(await kmd.contacts.list(), given!)
      await kmd.contacts.delete(contact)
      if (options.json) printJson({ contact })
      else printMessage(`${contact.address} has no label any more. It was ${quoted(contact.label)}.`)
      return exitCodes.ok
    }),
})

/** Labels differ by more than case, so a text matches at most one of them. */
function find(contacts: readonly Contact[], given: string): Contact {
  const comparable = (text: string): string => text.trim().normalize('NFKC').toLowerCase()
  const found = contacts.find(({ address, label }) => address === given || comparable(label) === comparable(given))
  if (found !== undefined) return found
  throw new CommandError(
    'contact_not_found',
    `there is no contact ${printable(given).slice(0, 80)} in the address book`,
    {
      hint: 'latchkey contact list shows them',
    },
  )
}

/** `latchkey contact list`: shows the address book. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'

export const contactListCommand = command({
  description: "List the daemon's address book, one line each: label and address.",
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey contact list', "latchkey contact list --json | jq -r '.contacts[].address'"],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const contacts = await kmd.contacts.list()
      if (options.json) printJson({ contacts })
      else if (contacts.length === 0) {
        printMessage('The address book is empty. To add a contact: latchkey contact add LABEL ADDRESS')
      } else printResult(columns(contacts.map(({ label, address }) => [label, address])))
      return exitCodes.ok
    }),
})

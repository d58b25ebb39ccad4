/** `latchkey contact add LABEL ADDRESS`: adds a contact. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'
import { checkAddress } from '../key/checkKey.js'

export const contactAddCommand = command({
  description: `Add an address to the address book with a label of your choice, or change its label. The console shows the label next to the address. The daemon stores the label; \
the ledger does not contain it.`,
  positionals: [
    { name: 'LABEL', description: '1 to 64 visible characters; a label belongs to one address' },
    { name: 'ADDRESS', description: 'address of 58 characters' },
  ],
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey contact add "Corner shop" ADDRESS'],
  exits: ['unreachable'],
  run: ({ options, args: [label, address] }) => {
    checkAddress(address!)
    return withDaemon(options, async (kmd) => {
      const contact = await kmd.contacts.set({ address: address!, label: label! })
      if (options.json) printJson({ contact })
      else printMessage(`Labelled ${contact.address} as ${quoted(contact.label)}.`)
      return exitCodes.ok
    })
  },
})

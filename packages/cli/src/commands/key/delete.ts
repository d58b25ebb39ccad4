/** `latchkey key delete ADDRESS`: takes a key out of its wallet, and says first whether it could come back. */
import { command, jsonOption } from '../../Command.js'
import { type Unlocked, walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../printable.js'
import { checkAskable, confirmByWord, consent } from '../../prompt.js'
import { places } from '../wallet/Origins.js'
import { checkAddress, checkKey } from './find.js'

const wordLength = 6

export const keyDeleteCommand = command({
  text: `Deletes a key from a wallet, once the last ${wordLength} characters of its address were typed. A key that was generated in the wallet \
comes back with its backup; one that was imported is gone for ever, unless its words were kept.`,
  takes: [{ name: 'ADDRESS', about: 'of the key' }],
  options: {
    yes: { type: 'boolean', short: 'y', about: 'delete it without being asked' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key delete ADDRESS', 'latchkey key delete ADDRESS --wallet tests --yes'],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkAskable(options.yes)
    return withWallet(options, async (unlocked) => {
      const { wallet } = unlocked
      await checkKey(wallet, address!)
      const place = await placeOf(unlocked, address!)
      process.stderr.write(`${fate(wallet.name, place)}\n`)
      await consent(options.yes, () => confirmByWord(`Delete ${address}?`, address!.slice(-wordLength)))
      await wallet.deleteKey(address!)
      const outcome = { wallet: { id: wallet.id, name: wallet.name }, address, place: place ?? null }
      if (options.json) process.stdout.write(`${JSON.stringify(outcome)}\n`)
      else process.stderr.write(`${address} is deleted.\n`)
      return exitCodes.ok
    })
  },
})

async function placeOf({ wallet }: Unlocked, address: string): Promise<number | undefined> {
  const master = await wallet.masterDerivationKey()
  try {
    // All of them, because each one that is found leads further along the order of generation.
    return places(master, await wallet.keys()).get(address)
  } finally {
    master.fill(0)
  }
}

function fate(name: string, place: number | undefined): string {
  if (place === undefined) {
    return 'This key was imported: no backup of the wallet has it. Unless its words were kept, it is gone for ever.'
  }
  const again = `latchkey wallet recover NEW-NAME --keys ${place}`
  return `This is key ${place} that was generated in ${quoted(name)}: with the wallet's backup it can be made again (${again}).`
}

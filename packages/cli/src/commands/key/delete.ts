/** `latchkey key delete ADDRESS`: deletes a key, after reporting whether the wallet's backup restores it. */
import { command, jsonOption } from '../../Command.js'
import { type Unlocked, walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'
import { checkCanConfirm, confirmByWord, requireConfirmation } from '../../prompt.js'
import { derivationIndexes } from '../wallet/derivationIndexes.js'
import { checkAddress, checkKey } from './checkKey.js'

const confirmationLength = 6

export const keyDeleteCommand = command({
  description: `Delete a key from a wallet. To confirm, type the last ${confirmationLength} characters of its address. The wallet's backup restores a key \
that was generated in the wallet, but not an imported key: keep its mnemonic.`,
  positionals: [{ name: 'ADDRESS', description: 'address of the key' }],
  options: {
    yes: { type: 'boolean', short: 'y', description: 'delete without confirmation' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key delete ADDRESS', 'latchkey key delete ADDRESS --wallet tests --yes'],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkCanConfirm(options.yes)
    return withWallet(options, async (unlocked) => {
      const { wallet } = unlocked
      await checkKey(wallet, address!)
      const index = await derivationIndexOf(unlocked, address!)
      printMessage(`${consequence(wallet.name, index)}`)
      await requireConfirmation(options.yes, () =>
        confirmByWord(`Delete ${address}?`, address!.slice(-confirmationLength)),
      )
      await wallet.deleteKey(address!)
      const result = { wallet: { id: wallet.id, name: wallet.name }, address, place: index ?? null }
      if (options.json) printJson(result)
      else printMessage(`Deleted ${address}.`)
      return exitCodes.ok
    })
  },
})

async function derivationIndexOf({ wallet }: Unlocked, address: string): Promise<number | undefined> {
  const master = await wallet.masterDerivationKey()
  try {
    // Passes all keys, because each one that is found extends the search.
    return derivationIndexes(master, await wallet.keys()).get(address)
  } finally {
    master.fill(0)
  }
}

function consequence(name: string, index: number | undefined): string {
  if (index === undefined) {
    return "This key was imported, so the wallet's backup does not restore it. Without its mnemonic it is lost permanently."
  }
  const restore = `latchkey wallet recover NEW-NAME --keys ${index}`
  return `This is key ${index} that was generated in ${quoted(name)}: the wallet's backup restores it (${restore}).`
}

/** `latchkey wallet recover NAME`: creates a wallet from its recovery mnemonic, with its keys. */
import type { Kmd, Wallet, WalletInfo } from '@latchkey/kmd-client'
import { command, jsonOption, readNumber } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted, shellWord } from '../../format.js'
import { printJson, printLine, printMessage, withProgress } from '../../messages.js'
import { mnemonicOptions, readMnemonic } from '../../mnemonic.js'
import { newPassword, passwordOptions } from '../../password.js'
import { generateKeys, maxKeys } from '../key/new.js'
import { checkName } from './checkName.js'

export const walletRecoverCommand = command({
  description: `Create a wallet from a recovery mnemonic (latchkey wallet backup), generate its keys again and print their addresses. A \
mnemonic always generates the same keys in the same order.`,
  positionals: [{ name: 'NAME', description: 'name of the new wallet' }],
  options: {
    keys: {
      type: 'string',
      short: 'n',
      placeholder: 'COUNT',
      description: 'number of keys to restore, starting with the first (1)',
    },
    ...mnemonicOptions,
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: `Type the words at a hidden prompt. A backup does not restore imported keys: run latchkey key import for those. The mnemonic of a \
single key also has 25 words; import it with latchkey key import.`,
  examples: [
    'latchkey wallet recover savings --keys 3',
    'latchkey wallet recover savings --mnemonic-file savings.mnemonic',
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) => {
    const count = readNumber('--keys', options.keys, 0, maxKeys) ?? 1
    return withDaemon(options, async (kmd) => {
      await checkName(kmd, name!)
      const masterDerivationKey = await readMnemonic(options)
      let password: Uint8Array | undefined
      try {
        password = await newPassword(options)
        const creating = kmd.wallets.create({ name: name!, password, masterDerivationKey })
        const info = await withProgress(`Creating ${quoted(name!)}`, creating)
        if (!options.json) printMessage(`Created wallet ${quoted(name!)}.`)
        const addresses = await restoreKeys(kmd, info, password, count, options.json ?? false)
        if (options.json) printJson({ wallet: info, addresses })
        else printNextStep(name!)
        return exitCodes.ok
      } finally {
        masterDerivationKey.fill(0)
        password?.fill(0)
      }
    })
  },
})

async function restoreKeys(
  kmd: Kmd,
  { id, name }: WalletInfo,
  password: Uint8Array,
  count: number,
  isJson: boolean,
): Promise<string[]> {
  if (count === 0) return []
  const wallet: Wallet = await withProgress(`Unlocking ${quoted(name)}`, kmd.unlock({ id, password: () => password }))
  try {
    return await generateKeys(wallet, count, isJson ? undefined : printLine)
  } finally {
    await wallet.release().catch(() => {})
  }
}

function printNextStep(name: string): void {
  printMessage(`If the wallet had more keys, run latchkey key new -w ${shellWord(name)} to restore the next ones.`)
}

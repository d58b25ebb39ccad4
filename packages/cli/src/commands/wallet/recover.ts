/** `latchkey wallet recover NAME`: a wallet from the 25 words of a backup, with its keys. */
import type { Kmd, Wallet, WalletInfo } from '@latchkey/kmd-client'
import { command, jsonOption, readNumber } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { mnemonicOptions, readMnemonic } from '../../mnemonic.js'
import { newPassword, passwordOptions } from '../../password.js'
import { quoted, shellWord } from '../../printable.js'
import { withProgress } from '../../progress.js'
import { generate, maxKeys } from '../key/generate.js'
import { checkName } from './names.js'

export const walletRecoverCommand = command({
  text: `Makes a wallet from the 25 words of a backup (latchkey wallet backup) and generates its keys again, always the same ones in the \
same order. Prints their addresses.`,
  takes: [{ name: 'NAME', about: 'what the wallet is to be called' }],
  options: {
    keys: { type: 'string', short: 'n', value: 'COUNT', about: 'how many keys to bring back, from the first on (1)' },
    ...mnemonicOptions,
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: `The words are asked for and not shown. Imported keys are not in a backup: bring them back with latchkey key import. The 25 words of a \
single key look just like these, but belong there too.`,
  examples: ['latchkey wallet recover savings --keys 3', 'latchkey wallet recover savings --words-file savings.words'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) => {
    const count = readNumber('--keys', options.keys, 0, maxKeys) ?? 1
    return withDaemon(options, async (kmd) => {
      await checkName(kmd, name!)
      const masterDerivationKey = await readMnemonic(options)
      let password: Uint8Array | undefined
      try {
        password = await newPassword(options)
        const creating = kmd.wallets.create({ name: name!, password, masterDerivationKey })
        const info = await withProgress(`Making ${quoted(name!)}`, creating)
        if (!options.json) process.stderr.write(`Wallet ${quoted(name!)} is made.\n`)
        const addresses = await bringBack(kmd, info, password, count, options.json ?? false)
        if (options.json) process.stdout.write(`${JSON.stringify({ wallet: info, addresses })}\n`)
        else tellNext(name!)
        return exitCodes.ok
      } finally {
        masterDerivationKey.fill(0)
        password?.fill(0)
      }
    })
  },
})

async function bringBack(
  kmd: Kmd,
  { id, name }: WalletInfo,
  password: Uint8Array,
  count: number,
  isJson: boolean,
): Promise<string[]> {
  if (count === 0) return []
  const wallet: Wallet = await withProgress(`Unlocking ${quoted(name)}`, kmd.unlock({ id, password: () => password }))
  try {
    return await generate(wallet, count, isJson ? undefined : (address) => process.stdout.write(`${address}\n`))
  } finally {
    await wallet.release().catch(() => {})
  }
}

function tellNext(name: string): void {
  process.stderr.write(`If it had more keys: latchkey key new -w ${shellWord(name)} goes on in their order.\n`)
}

/** `latchkey wallet backup NAME`: shows the recovery mnemonic of a wallet, and the keys that it does not restore. */
import { timingSafeEqual } from 'node:crypto'
import { Mnemonic } from '@latchkey/algorand'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, type Unlocked, withWallet } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted, shellWord } from '../../format.js'
import { printJson, printMessage } from '../../messages.js'
import { isMnemonicGiven, mnemonicGrid, mnemonicOptions, readMnemonic } from '../../mnemonic.js'
import { passwordOptions } from '../../password.js'
import { checkCanReveal, revealOptions, revealSecret, type Secret } from '../../revealSecret.js'
import { derivationIndexes } from './derivationIndexes.js'

export const walletBackupCommand = command({
  description: `Print a wallet's recovery mnemonic: 25 words from which latchkey wallet recover restores every key that was generated in the \
wallet. Anyone who has the words has those keys. The words do not restore imported keys and multisig accounts, which the command lists.`,
  positionals: [{ name: 'NAME', description: 'name or id of the wallet' }],
  options: {
    check: {
      type: 'boolean',
      description: 'do not show the words; ask for them and check that they match the wallet',
    },
    ...revealOptions,
    ...mnemonicOptions,
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: '--mnemonic-file and --mnemonic-fd require --check.',
  examples: [
    'latchkey wallet backup savings',
    'latchkey wallet backup savings --out savings.mnemonic',
    'latchkey wallet backup savings --check',
  ],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [wallet] }) => {
    if (isMnemonicGiven(options) && !options.check)
      throw new UsageError('--mnemonic-file and --mnemonic-fd need --check')
    if (options.check && options.out !== undefined) throw new UsageError('give --check or --out, not both')
    if (options.check) return check({ ...options, wallet })
    checkCanReveal(options)
    return withWallet({ ...options, wallet }, async (unlocked) => {
      const question = `Anyone who sees the words of ${quoted(unlocked.wallet.name)} has its keys. Show them here?`
      await revealSecret(options, () => backup(unlocked), question)
      return exitCodes.ok
    })
  },
})

type CheckOptions = Parameters<typeof readMnemonic>[0] &
  Parameters<typeof withWallet>[0] & { json?: boolean | undefined }

function check(options: CheckOptions): Promise<number> {
  return withWallet(options, async ({ wallet }) => {
    const given = await readMnemonic(options)
    const own = await wallet.masterDerivationKey()
    try {
      const isRight = timingSafeEqual(given, own)
      if (options.json) printJson({ wallet: info(wallet), isRight })
      if (!isRight) {
        throw new CommandError(
          'mnemonic_mismatch',
          `the mnemonic is valid, but belongs to another wallet than ${quoted(wallet.name)}`,
        )
      }
      if (!options.json) printMessage(`The words match the wallet ${quoted(wallet.name)}.`)
      return exitCodes.ok
    } finally {
      given.fill(0)
      own.fill(0)
    }
  })
}

const info = ({ id, name }: Unlocked['wallet']) => ({ id, name })

async function backup({ wallet }: Unlocked): Promise<Secret> {
  const key = await wallet.masterDerivationKey()
  try {
    const addresses = await wallet.keys()
    const generated = derivationIndexes(key, addresses)
    const imported = addresses.filter((address) => !generated.has(address))
    const multisigs = await wallet.multisigs()
    const keys = Math.max(0, ...generated.values())
    const facts = { wallet: info(wallet), keys, imported, multisigs }
    const warning = contents(wallet.name, keys, imported, multisigs)
    const words = Mnemonic.encode(key)
    return { secret: words, display: mnemonicGrid(words), member: 'words', facts, warning }
  } finally {
    key.fill(0)
  }
}

function contents(name: string, keys: number, imported: readonly string[], multisigs: readonly string[]): string[] {
  const word = shellWord(name)
  const lines = [
    `Store these words in a safe place. They restore the keys of ${quoted(name)}:`,
    `  latchkey wallet recover ${word} --keys ${keys}`,
  ]
  if (imported.length === 0) lines.push('The wallet has no imported keys, which a backup does not restore.')
  else {
    lines.push('NOT in this backup: imported keys (latchkey key export shows the mnemonic of each):')
    lines.push(...imported.map((address) => `  ${address}`))
  }
  if (multisigs.length > 0) {
    lines.push(
      'NOT in this backup: multisig accounts (latchkey multisig show prints the command that creates each again):',
    )
    lines.push(...multisigs.map((address) => `  ${address}`))
  }
  return [...lines, '']
}

/** `latchkey wallet backup NAME`: the 25 words that bring back the generated keys, and what they do not bring back. */
import { timingSafeEqual } from 'node:crypto'
import { Mnemonic } from '@latchkey/algorand'
import { command, jsonOption, UsageError } from '../../Command.js'
import { daemonOptions, type Unlocked, withWallet } from '../../daemon.js'
import { CommandError, exitCodes } from '../../exitCodes.js'
import { mnemonicOptions, readMnemonic } from '../../mnemonic.js'
import { passwordOptions } from '../../password.js'
import { quoted, shellWord } from '../../printable.js'
import { checkReveal, type Revealed, reveal, revealOptions } from '../../reveal.js'
import { places } from './Origins.js'

export const walletBackupCommand = command({
  text: `Prints the 25 words of a wallet's master derivation key. With them, latchkey wallet recover brings back every key that was \
generated in the wallet, and so can whoever else reads them. Imported keys and multisig accounts are not in a backup; which ones is told.`,
  takes: [{ name: 'NAME', about: 'of the wallet, or its id' }],
  options: {
    check: { type: 'boolean', about: 'show nothing; ask for the words and tell whether they are those of the wallet' },
    ...revealOptions,
    ...mnemonicOptions,
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: '--words-file and --words-fd go with --check.',
  examples: [
    'latchkey wallet backup savings',
    'latchkey wallet backup savings --out savings.words',
    'latchkey wallet backup savings --check',
  ],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [wallet] }) => {
    const hasWords = options['words-file'] !== undefined || options['words-fd'] !== undefined
    if (hasWords && !options.check) throw new UsageError('--words-file and --words-fd go with --check')
    if (options.check && options.out !== undefined) throw new UsageError('--check shows nothing, so --out has no use')
    if (options.check) return check({ ...options, wallet })
    checkReveal(options)
    return withWallet({ ...options, wallet }, async (unlocked) => {
      const question = `Whoever sees the words of ${quoted(unlocked.wallet.name)} has its keys. Show them here?`
      await reveal(options, () => backup(unlocked), question)
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
      if (options.json) process.stdout.write(`${JSON.stringify({ wallet: info(wallet), isRight })}\n`)
      if (!isRight) {
        throw new CommandError('failed', `these words are in order, but they are not those of ${quoted(wallet.name)}`)
      }
      if (!options.json) process.stderr.write(`These are the words of ${quoted(wallet.name)}.\n`)
      return exitCodes.ok
    } finally {
      given.fill(0)
      own.fill(0)
    }
  })
}

const info = ({ id, name }: Unlocked['wallet']) => ({ id, name })

async function backup({ wallet }: Unlocked): Promise<Revealed> {
  const key = await wallet.masterDerivationKey()
  try {
    const addresses = await wallet.keys()
    const generated = places(key, addresses)
    const imported = addresses.filter((address) => !generated.has(address))
    const multisigs = await wallet.multisigs()
    const keys = Math.max(0, ...generated.values())
    const facts = { wallet: info(wallet), keys, imported, multisigs }
    const warning = contents(wallet.name, keys, imported, multisigs)
    return { secret: Mnemonic.encode(key), member: 'words', facts, warning }
  } finally {
    key.fill(0)
  }
}

function contents(name: string, keys: number, imported: readonly string[], multisigs: readonly string[]): string {
  const word = shellWord(name)
  const lines = [
    `Keep these words where nobody else reads them. They bring back the keys of ${quoted(name)}:`,
    `  latchkey wallet recover ${word} --keys ${keys}`,
  ]
  if (imported.length === 0) lines.push('Imported keys would not be in it; there are none.')
  else {
    lines.push('NOT in this backup, because they were imported (latchkey key export shows the words of each):')
    lines.push(...imported.map((address) => `  ${address}`))
  }
  if (multisigs.length > 0) {
    lines.push(
      'NOT in this backup either, the multisig accounts (latchkey multisig show tells how to make them again):',
    )
    lines.push(...multisigs.map((address) => `  ${address}`))
  }
  return `${lines.join('\n')}\n\n`
}

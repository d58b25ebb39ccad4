/** `latchkey key export ADDRESS`: one private key. */
import { Ed25519, Mnemonic } from '@latchkey/algorand'
import { command, jsonOption } from '../../Command.js'
import { type Unlocked, walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { checkReveal, type Revealed, reveal, revealOptions } from '../../reveal.js'
import { checkAddress, checkKey } from './find.js'

const formats = ['words', 'base64'] as const
type Format = (typeof formats)[number]

export const keyExportCommand = command({
  text: 'Prints a private key, as its 25 words or in base64. Whoever sees it can spend all that the address holds.',
  takes: [{ name: 'ADDRESS', about: 'of the key' }],
  options: {
    format: {
      type: 'string',
      choices: formats,
      about: '25 words (the default), or seed and public key, 64 bytes, in base64',
    },
    ...revealOptions,
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key export ADDRESS', 'latchkey key export ADDRESS --format base64 --out key.txt'],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkReveal(options)
    const format = (options.format ?? 'words') as Format
    return withWallet(options, async (unlocked) => {
      await checkKey(unlocked.wallet, address!)
      const question = `Whoever sees the key of ${address} can spend all it holds. Show it here?`
      await reveal(options, () => exported(unlocked, address!, format), question)
      return exitCodes.ok
    })
  },
})

async function exported({ wallet }: Unlocked, address: string, format: Format): Promise<Revealed> {
  const key = await wallet.exportKey(address)
  try {
    const isWords = format === 'words'
    const bytes = Buffer.from(key.buffer, key.byteOffset, key.length)
    return {
      secret: isWords ? Mnemonic.encode(key.subarray(0, Ed25519.seedLength)) : bytes.toString('base64'),
      member: isWords ? 'words' : 'secretKey',
      facts: { wallet: { id: wallet.id, name: wallet.name }, address },
      warning: `The key of ${address}. Keep it where nobody else reads it; latchkey key import takes it back.\n`,
    }
  } finally {
    key.fill(0)
  }
}

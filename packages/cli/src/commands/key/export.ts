/** `latchkey key export ADDRESS`: prints a private key. */
import { Ed25519, Mnemonic } from '@latchkey/algorand'
import { command, jsonOption } from '../../Command.js'
import { type Unlocked, walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { mnemonicGrid } from '../../mnemonic.js'
import { checkCanReveal, revealOptions, revealSecret, type Secret } from '../../revealSecret.js'
import { checkAddress, checkKey } from './checkKey.js'

const formats = ['words', 'base64'] as const
type Format = (typeof formats)[number]

export const keyExportCommand = command({
  description:
    'Print a private key, as a mnemonic of 25 words or in base64. Anyone who has the key can spend from the address.',
  positionals: [{ name: 'ADDRESS', description: 'address of the key' }],
  options: {
    format: {
      type: 'string',
      choices: formats,
      description: 'mnemonic of 25 words (the default), or 64 bytes, seed and public key, in base64',
    },
    ...revealOptions,
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key export ADDRESS', 'latchkey key export ADDRESS --format base64 --out key.txt'],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [address] }) => {
    checkAddress(address!)
    checkCanReveal(options)
    const format = (options.format ?? 'words') as Format
    return withWallet(options, async (unlocked) => {
      await checkKey(unlocked.wallet, address!)
      const question = `Anyone who sees the key of ${address} can spend from it. Show it here?`
      await revealSecret(options, () => exportKey(unlocked, address!, format), question)
      return exitCodes.ok
    })
  },
})

async function exportKey({ wallet }: Unlocked, address: string, format: Format): Promise<Secret> {
  const key = await wallet.exportKey(address)
  try {
    const isMnemonic = format === 'words'
    const bytes = Buffer.from(key.buffer, key.byteOffset, key.length)
    const secret = isMnemonic ? Mnemonic.encode(key.subarray(0, Ed25519.seedLength)) : bytes.toString('base64')
    return {
      secret,
      display: isMnemonic ? mnemonicGrid(secret) : undefined,
      member: isMnemonic ? 'words' : 'secretKey',
      facts: { wallet: { id: wallet.id, name: wallet.name }, address },
      warning: [`The key of ${address}. Store it in a safe place; latchkey key import imports it again.`],
    }
  } finally {
    key.fill(0)
  }
}

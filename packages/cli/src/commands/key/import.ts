/** `latchkey key import`: a key from elsewhere. */
import { Address, Ed25519 } from '@latchkey/algorand'
import { command, jsonOption, UsageError } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError, exitCodes } from '../../exitCodes.js'
import { type Input, openFile } from '../../Input.js'
import { mnemonicOptions, readMnemonic } from '../../mnemonic.js'
import { quoted } from '../../printable.js'

export const keyImportCommand = command({
  text: 'Puts a key into a wallet and prints its address. The key is given as its 25 words, which are asked for and not shown, or in a file.',
  options: {
    ...mnemonicOptions,
    'secret-key-file': {
      type: 'string',
      value: 'FILE',
      completes: 'file',
      about: 'the key is in this file in base64: seed and public key, 64 bytes, or the 32 bytes of the seed',
    },
    ...walletOptions,
    ...jsonOption,
  },
  notes:
    "Imported keys are not in the wallet's backup: keep their words. The words of a whole wallet belong to latchkey wallet recover.",
  examples: ['latchkey key import --wallet savings', 'latchkey key import --words-file key.words'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) => {
    const file = options['secret-key-file']
    if (file !== undefined && (options['words-file'] !== undefined || options['words-fd'] !== undefined)) {
      throw new UsageError('say in one way only where the key comes from')
    }
    return withWallet(options, async ({ wallet }) => {
      const key = file === undefined ? await readMnemonic(options) : readSecretKey(file)
      try {
        const own = Address.encode(Ed25519.publicKey(key.subarray(0, Ed25519.seedLength)))
        if ((await wallet.keys()).includes(own)) {
          throw new CommandError('failed', `${own} is in ${quoted(wallet.name)} already; nothing was done`)
        }
        const address = await wallet.importKey(key)
        if (options.json) {
          process.stdout.write(`${JSON.stringify({ wallet: { id: wallet.id, name: wallet.name }, address })}\n`)
        } else {
          process.stdout.write(`${address}\n`)
          process.stderr.write(
            `It is not in the backup of ${quoted(wallet.name)}, as every imported key: keep its words.\n`,
          )
        }
        return exitCodes.ok
      } finally {
        key.fill(0)
      }
    })
  },
})

function readSecretKey(path: string): Uint8Array {
  let input: Input | undefined
  let line: Uint8Array | undefined
  let key: Buffer | undefined
  try {
    input = openFile(path)
    line = input.line() ?? new Uint8Array()
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString('latin1').trim()
    key = Buffer.from(text, 'base64')
    const isLong = key.length === Ed25519.secretKeyLength
    if (key.toString('base64') !== text || !(isLong || key.length === Ed25519.seedLength)) {
      throw new CommandError('failed', `${path} does not begin with a line of 64 or 32 bytes in base64`)
    }
    checkHalves(key, path)
    return new Uint8Array(key)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError('failed', `the key cannot be read: ${(error as Error).message}`)
  } finally {
    line?.fill(0)
    key?.fill(0)
    input?.close()
  }
}

/** A seed with another key's public half would sign for neither. */
function checkHalves(key: Uint8Array, path: string): void {
  if (key.length === Ed25519.seedLength) return
  const own = Ed25519.publicKey(key.subarray(0, Ed25519.seedLength))
  if (Buffer.compare(own, key.subarray(Ed25519.seedLength)) === 0) return
  throw new CommandError('failed', `the key in ${path} is damaged: its public half does not belong to its seed`)
}

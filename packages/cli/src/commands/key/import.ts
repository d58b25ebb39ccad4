/** `latchkey key import`: imports a key into a wallet. */
import { Address, Ed25519 } from '@latchkey/algorand'
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { type LineReader, openFile } from '../../LineReader.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import { isMnemonicGiven, mnemonicOptions, readMnemonic } from '../../mnemonic.js'

export const keyImportCommand = command({
  description:
    'Import a key into a wallet and print its address. Type its mnemonic of 25 words at a hidden prompt, or give a file.',
  options: {
    ...mnemonicOptions,
    'secret-key-file': {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'read the key from this file in base64: 64 bytes (seed and public key), or the 32 bytes of the seed',
    },
    ...walletOptions,
    ...jsonOption,
  },
  notes:
    "The wallet's backup does not restore imported keys: keep their mnemonics. To recover a whole wallet from its mnemonic, run latchkey wallet recover.",
  examples: ['latchkey key import --wallet savings', 'latchkey key import --mnemonic-file key.mnemonic'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) => {
    const file = options['secret-key-file']
    if (file !== undefined && isMnemonicGiven(options)) {
      throw new UsageError('give a mnemonic or --secret-key-file, not both')
    }
    return withWallet(options, async ({ wallet }) => {
      const key = file === undefined ? await readMnemonic(options) : readSecretKey(file)
      try {
        const own = Address.encode(Ed25519.publicKey(key.subarray(0, Ed25519.seedLength)))
        if ((await wallet.keys()).includes(own)) {
          throw new CommandError('key_exists', `${own} is already in ${quoted(wallet.name)}; nothing was done`)
        }
        const address = await wallet.importKey(key)
        if (options.json) {
          printJson({ wallet: { id: wallet.id, name: wallet.name }, address })
        } else {
          printLine(address)
          printMessage(`The backup of ${quoted(wallet.name)} does not restore imported keys: keep its mnemonic.`)
        }
        return exitCodes.ok
      } finally {
        key.fill(0)
      }
    })
  },
})

function readSecretKey(path: string): Uint8Array {
  let reader: LineReader | undefined
  let line: Uint8Array | undefined
  let key: Buffer | undefined
  try {
    reader = openFile(path)
    line = reader.readLine() ?? new Uint8Array()
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString('latin1').trim()
    key = Buffer.from(text, 'base64')
    const isLong = key.length === Ed25519.secretKeyLength
    if (key.toString('base64') !== text || !(isLong || key.length === Ed25519.seedLength)) {
      throw new CommandError('invalid_file', `the first line of ${path} is not 64 or 32 bytes in base64`)
    }
    checkHalves(key, path)
    return new Uint8Array(key)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError('file_unreadable', `the key cannot be read: ${(cause as Error).message}`, { cause })
  } finally {
    line?.fill(0)
    key?.fill(0)
    reader?.close()
  }
}

/** A seed with the public key of another one would sign for neither. */
function checkHalves(key: Uint8Array, path: string): void {
  if (key.length === Ed25519.seedLength) return
  const own = Ed25519.publicKey(key.subarray(0, Ed25519.seedLength))
  if (Buffer.compare(own, key.subarray(Ed25519.seedLength)) === 0) return
  throw new CommandError('invalid_file', `the key in ${path} is damaged: its public key does not match its seed`)
}

/** The key that signs, as commands are given it: never as an argument. */
import { Address } from '@latchkey/algorand'
import { fromKmd, Signer } from '@latchkey/x402/client'
import type { Option } from './Command.js'
import { dataDirectory, explainDaemonError, walletOptions } from './daemon.js'
import { CommandError, UsageError } from './errors.js'
import { quoted } from './format.js'
import { password } from './password.js'

type Environment = { readonly [name: string]: string | undefined }

export const signerOptions = {
  wallet: { ...walletOptions.wallet, description: 'wallet of the key daemon that holds the key' },
  key: { type: 'string', placeholder: 'ADDRESS', description: 'address of the key in that wallet' },
  'password-file': walletOptions['password-file'],
  'password-fd': walletOptions['password-fd'],
  'no-password': walletOptions['no-password'],
  'data-dir': walletOptions['data-dir'],
} as const satisfies { [name: string]: Option }

type SignerValues = Parameters<typeof password>[0] & {
  readonly wallet?: string | undefined
  readonly key?: string | undefined
  readonly 'data-dir'?: string | undefined
}

export const signerNotes = `The key is one in the key daemon (--wallet and --key, or KMD_WALLET and KMD_KEY), which it never leaves; or \
AVM_MNEMONIC (25 words) or AVM_PRIVATE_KEY (64 bytes in base64) in the environment.`

/** A key in the daemon, or one from the environment; undefined if neither is given. */
export function signerFrom(given: SignerValues, environment: Environment): Signer.Signer | undefined {
  const { AVM_MNEMONIC: mnemonic = '', AVM_PRIVATE_KEY: secret = '' } = environment
  const isGiven = given.wallet !== undefined || given.key !== undefined
  if (!isGiven && mnemonic !== '') return Signer.fromMnemonic(mnemonic)
  if (!isGiven && secret !== '') return Signer.fromSecretKey(secret)
  const wallet = given.wallet ?? environment['KMD_WALLET'] ?? ''
  if (wallet === '') {
    if (isGiven) throw new UsageError('--key needs --wallet: the wallet that holds the key')
    return undefined
  }
  const address = given.key ?? (environment['KMD_KEY'] || environment['AVM_ADDRESS']) ?? ''
  if (address === '') throw new UsageError(`--wallet needs --key: the address of the key in ${quoted(wallet)}`)
  if (!Address.isValid(address)) {
    throw new CommandError('key_not_found', `${quoted(address)} is not an Algorand address`, {
      hint: 'give --key (or KMD_KEY) an address that latchkey key list shows',
    })
  }
  const dataDir = dataDirectory(given['data-dir'])
  const signer = fromKmd({ kmd: { dataDir }, wallet, address, password: password(given, quoted(wallet), environment) })
  const explaining = async <T>(work: () => T): Promise<Awaited<T>> => {
    try {
      return await work()
    } catch (error) {
      throw explainDaemonError(error, dataDir)
    }
  }
  return {
    ...signer,
    sign: (transaction) => explaining(() => signer.sign(transaction)),
    check: () => explaining(async () => signer.check?.()),
  }
}

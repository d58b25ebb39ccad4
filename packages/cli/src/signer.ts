/** The signing key, from the options of a command, never as an argument. */
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

export const signerNotes = `The key stays in the key daemon (--wallet and --key, or KMD_WALLET and KMD_KEY), or comes from \
AVM_MNEMONIC (25 words) or AVM_PRIVATE_KEY (64 bytes in base64) in the environment.`

/** Returns a key in the daemon or one from the environment, or undefined if neither is given. */
export function signerFrom(given: SignerValues, environment: Environment): Signer.Signer | undefined {
  const { AVM_MNEMONIC: mnemonic = '', AVM_PRIVATE_KEY: secret = '' } = environment
  const isGiven = given.wallet !== undefined || given.key !== undefined
  if (!isGiven && mnemonic !== '') return Signer.fromMnemonic(mnemonic)
  if (!isGiven && secret !== '') return Signer.fromSecretKey(secret)
  const wallet = walletFrom(given, environment)
  if (wallet === undefined) {
    if (isGiven) throw new UsageError('--key needs --wallet: the wallet that holds the key')
    return undefined
  }
  const address = given.key ?? keyFrom(environment)
  const dataDir = dataDirectory(given['data-dir'])
  return daemonSigner({ dataDir, wallet, address, password: password(given, quoted(wallet), environment) })
}

export function walletFrom(
  given: { readonly wallet?: string | undefined },
  environment: Environment,
): string | undefined {
  const wallet = given.wallet ?? environment['KMD_WALLET'] ?? ''
  return wallet === '' ? undefined : wallet
}

export function keyFrom(environment: Environment): string {
  return (environment['KMD_KEY'] || environment['AVM_ADDRESS']) ?? ''
}

export type DaemonKey = {
  readonly dataDir: string
  readonly wallet: string
  readonly address: string
  readonly password: () => Promise<Uint8Array>
}

/** A signer with a key of the daemon, whose errors say what to do. */
export function daemonSigner({ dataDir, wallet, address, password: read }: DaemonKey): Signer.Signer {
  if (address === '') throw new UsageError(`--wallet needs --key: the address of the key in ${quoted(wallet)}`)
  if (!Address.isValid(address)) {
    throw new CommandError('key_not_found', `${quoted(address)} is not an Algorand address`, {
      hint: 'give an address from latchkey key list with --key or KMD_KEY',
    })
  }
  const signer = fromKmd({ kmd: { dataDir }, wallet, address, password: read })
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
    signUpto: (authorization) => explaining(() => signer.signUpto!(authorization)),
    check: () => explaining(async () => signer.check?.()),
  }
}

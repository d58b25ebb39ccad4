/** The fee accounts of a facilitator, from the options of the command: one or several, never as an argument. */
import { Signer } from '@latchkey/x402/facilitator'
import type { Option } from '../Command.js'
import { dataDirectory } from '../daemon.js'
import { UsageError } from '../errors.js'
import { quoted } from '../format.js'
import { password } from '../password.js'
import { daemonSigner, keyFrom, signerOptions, walletFrom } from '../signer.js'

type Environment = { readonly [name: string]: string | undefined }

export const feePayerOptions = {
  wallet: { ...signerOptions.wallet, multiple: true },
  key: {
    ...signerOptions.key,
    multiple: true,
    description: 'address of the key in that wallet; repeatable for more fee accounts, the preferred one first',
  },
  'password-file': { ...signerOptions['password-file'], multiple: true },
  'password-fd': signerOptions['password-fd'],
  'no-password': signerOptions['no-password'],
  'data-dir': { ...signerOptions['data-dir'], multiple: true },
} as const satisfies { [name: string]: Option }

export const feePayerNotes = `The keys of the fee accounts stay in the key daemon (--wallet and --key, or KMD_WALLET and KMD_KEY, separated \
by commas), or come from the environment: AVM_MNEMONIC (25 words) or AVM_PRIVATE_KEY (64 bytes in base64), for further \
accounts AVM_MNEMONIC_2 or AVM_PRIVATE_KEY_2 and so on. With several --key options, give --wallet, --password-file and --data-dir once for \
all keys, or once for each.`

type Values = {
  readonly wallet?: string[] | undefined
  readonly key?: string[] | undefined
  readonly 'password-file'?: string[] | undefined
  readonly 'password-fd'?: string | undefined
  readonly 'no-password'?: boolean | undefined
  readonly 'data-dir'?: string[] | undefined
}

/** The same as in the library. */
const maxAccounts = 32

/** Returns the signers in order of preference, or none if buyers pay their own fees. */
export function feePayersFrom(given: Values, environment: Environment): readonly Signer.Signer[] {
  const isGiven = given.wallet !== undefined || given.key !== undefined
  const fromEnvironment = isGiven ? [] : environmentSigners(environment)
  if (fromEnvironment.length > 0) return fromEnvironment
  const keys = given.key ?? keysFrom(environment)
  if (given.wallet === undefined && walletFrom({}, environment) === undefined) {
    if (isGiven) throw new UsageError('--key needs --wallet: the wallet that holds the key')
    return []
  }
  const passwords = new Map<string, Password>()
  return keys.map((address, index) => {
    const place = { index, count: keys.length }
    const wallet = walletFrom({ wallet: valueFor('--wallet', given.wallet, place) }, environment)!
    const dataDir = dataDirectory(valueFor('--data-dir', given['data-dir'], place), environment)
    const file = valueFor('--password-file', given['password-file'], place)
    // Keys of one wallet share its password, because a descriptor can be read only once and a person is asked only
    // once.
    const shared = JSON.stringify([dataDir, wallet, file])
    const read = passwords.get(shared) ?? passwordOf(given, { wallet, file }, environment)
    passwords.set(shared, read)
    return daemonSigner({ dataDir, wallet, address, password: read })
  })
}

type Password = () => Promise<Uint8Array>
type Place = { readonly index: number; readonly count: number }

function passwordOf(
  given: Values,
  { wallet, file }: { readonly wallet: string; readonly file: string | undefined },
  environment: Environment,
): Password {
  const source = {
    'password-file': file,
    'password-fd': given['password-fd'],
    'no-password': given['no-password'],
  }
  return password(source, quoted(wallet), environment)
}

/** Returns the value for one of several keys. An option is given once for all of them, or once for each. */
function valueFor(option: string, values: readonly string[] | undefined, { index, count }: Place): string | undefined {
  if (values === undefined || values.length === 1) return values?.[0]
  if (values.length === count) return values[index]
  throw new UsageError(`${option} is given ${values.length} times, but --key ${count} times`, {
    hint: `give ${option} once for all keys, or once for each`,
  })
}

function keysFrom(environment: Environment): string[] {
  return keyFrom(environment)
    .split(',')
    .map((key) => key.trim())
}

/** Reads `AVM_MNEMONIC` or `AVM_PRIVATE_KEY`, then those with `_2`, `_3` and so on. */
function environmentSigners(environment: Environment): Signer.Signer[] {
  const signers: Signer.Signer[] = []
  for (let number = 1; number <= maxAccounts; number++) {
    const suffix = number === 1 ? '' : `_${number}`
    const mnemonic = environment[`AVM_MNEMONIC${suffix}`] ?? ''
    const secret = environment[`AVM_PRIVATE_KEY${suffix}`] ?? ''
    if (mnemonic === '' && secret === '') continue
    // A skipped account would be missing when it is needed.
    if (signers.length !== number - 1) {
      const name = `${mnemonic === '' ? 'AVM_PRIVATE_KEY' : 'AVM_MNEMONIC'}`
      const before = signers.length === 0 ? name : `${name}_${signers.length + 1}`
      throw new UsageError(`${name}${suffix} is set, but ${before} is not`)
    }
    signers.push(mnemonic === '' ? Signer.fromSecretKey(secret) : Signer.fromMnemonic(mnemonic))
  }
  return signers
}

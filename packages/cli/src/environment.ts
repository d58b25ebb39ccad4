/** Keys and networks as commands are given them: keys never as arguments. */
import { Chain, fromKmd, Signer } from '@latchkey/x402/client'
import { type Option, UsageError } from './Command.js'
import { dataDirectory, walletOptions } from './daemon.js'
import { password } from './password.js'

type Environment = { readonly [name: string]: string | undefined }

export const signerOptions = {
  wallet: { ...walletOptions.wallet, about: 'a wallet of the key daemon, which holds the key' },
  key: { type: 'string', value: 'ADDRESS', about: 'the key in that wallet' },
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

export const signerNotes = `The key: one that stays in the key daemon (--wallet and --key, or KMD_WALLET and KMD_KEY); or AVM_MNEMONIC (25 words) \
or AVM_PRIVATE_KEY (64 bytes in base64) in the environment.`

/** A key that stays in the daemon, or the words or the key itself; undefined if nothing is said. */
export function signerFrom(given: SignerValues, environment: Environment): Signer.Signer | undefined {
  const { AVM_MNEMONIC: words = '', AVM_PRIVATE_KEY: secret = '' } = environment
  const isSaid = given.wallet !== undefined || given.key !== undefined
  if (!isSaid && words !== '') return Signer.fromMnemonic(words)
  if (!isSaid && secret !== '') return Signer.fromSecretKey(secret)
  const wallet = given.wallet ?? environment['KMD_WALLET'] ?? ''
  if (wallet === '') {
    if (isSaid) throw new UsageError('--key needs the wallet it is in, with --wallet')
    return undefined
  }
  const address = given.key ?? (environment['KMD_KEY'] || environment['AVM_ADDRESS']) ?? ''
  if (address === '') throw new UsageError(`say which key of ${wallet} it is, with --key`)
  const dataDir = dataDirectory(given['data-dir'])
  return fromKmd({ kmd: { dataDir }, wallet, address, password: password(given, wallet, environment) })
}

export const chainOptions = {
  network: {
    type: 'string',
    value: 'NETWORK',
    about: 'testnet (the default), mainnet, betanet, local, or a CAIP-2 id',
  },
  node: {
    type: 'string',
    multiple: true,
    value: 'URL',
    about: 'an algod of that network; may be given several times, for failover',
  },
  dollar: { type: 'string', value: 'ID', about: 'the asset that is a dollar on a local network' },
} as const satisfies { [name: string]: Option }

type ChainValues = {
  readonly network?: string | undefined
  readonly node?: string[] | undefined
  readonly dollar?: string | undefined
}

export function networkOf({ network }: ChainValues, environment: Environment): string {
  return network ?? (environment['AVM_NETWORK'] || 'testnet')
}

export function openChain(given: ChainValues, environment: Environment): Promise<Chain> {
  const { ALGOD_TOKEN: token, ALGOD_URL: url = '', USDC_ASSET_ID: asset = '' } = environment
  // What the environment says of a local network is not meant for another one that is asked for by name.
  const isOwn = given.network === undefined || given.network === environment['AVM_NETWORK']
  const node = given.node ?? (isOwn && url !== '' ? [url] : undefined)
  const dollar = given.dollar ?? (isOwn && asset !== '' ? asset : undefined)
  return Chain.open({
    network: networkOf(given, environment),
    nodes: node?.map((one) => ({ url: one, token })),
    dollarAssetId: dollar === undefined ? undefined : BigInt(readWhole('--dollar', dollar)),
  })
}

export function readWhole(name: string, text: string): string {
  if (!/^[0-9]{1,18}$/.test(text)) throw new UsageError(`${name} takes a whole number`)
  return text
}

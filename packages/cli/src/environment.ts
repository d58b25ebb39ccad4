/** Keys and networks as commands are given them: keys never as arguments. */
import { readFile } from 'node:fs/promises'
import { Chain, fromKmd, Signer } from '@latchkey/x402/client'
import { UsageError } from './Command.js'

type Environment = { readonly [name: string]: string | undefined }

/** The words or the key itself, or one that stays in the key daemon; undefined if nothing is said. */
export function signerFrom(environment: Environment): Signer.Signer | undefined {
  const { AVM_MNEMONIC: words, AVM_PRIVATE_KEY: key, KMD_DATA_DIR: dataDir } = environment
  if (words !== undefined && words !== '') return Signer.fromMnemonic(words)
  if (key !== undefined && key !== '') return Signer.fromSecretKey(key)
  if (dataDir === undefined || dataDir === '') return undefined
  const { KMD_WALLET: wallet, AVM_ADDRESS: address, KMD_PASSWORD_FILE: file } = environment
  if (wallet === undefined || address === undefined)
    throw new UsageError('KMD_DATA_DIR needs KMD_WALLET and AVM_ADDRESS')
  return fromKmd({ kmd: { dataDir }, wallet, address, password: () => readPassword(file) })
}

async function readPassword(file: string | undefined): Promise<string> {
  return file === undefined ? '' : (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
}

export const chainOptions = {
  network: { type: 'string' },
  node: { type: 'string', multiple: true },
  dollar: { type: 'string' },
} as const

type ChainValues = { network?: string | undefined; node?: string[] | undefined; dollar?: string | undefined }

export function openChain(
  { network = 'testnet', node, dollar }: ChainValues,
  environment: Environment,
): Promise<Chain> {
  const token = environment['ALGOD_TOKEN']
  return Chain.open({
    network,
    nodes: node?.map((url) => ({ url, token })),
    dollarAssetId: dollar === undefined ? undefined : BigInt(readWhole('--dollar', dollar)),
  })
}

export function readWhole(name: string, text: string): string {
  if (!/^[0-9]{1,18}$/.test(text)) throw new UsageError(`${name} takes a whole number`)
  return text
}

/**
 * Returns the account that funds a scenario: the dispenser of the devnet, or the one that AlgoKit uses on a local
 * network.
 */
import { createHash } from 'node:crypto'
import * as algosdk from 'algosdk'

export type Environment = { readonly [name: string]: string | undefined }

export const localToken = 'a'.repeat(64)
const walletName = 'unencrypted-default-wallet'
/** The minimum balance that a scenario needs. */
const neededMicroAlgos = 10_000_000n

/** Returns the devnet's dispenser, whose key is public. */
export function devnetDispenser(): algosdk.Account {
  const seed = createHash('sha512-256').update('latchkey devnet, for development only: dispenser').digest()
  return algosdk.mnemonicToSecretKey(algosdk.mnemonicFromSeed(seed))
}

export async function findFunder(algod: algosdk.Algodv2, environment: Environment): Promise<algosdk.Account> {
  const mnemonic = environment['DISPENSER_MNEMONIC']
  if (mnemonic !== undefined) return algosdk.mnemonicToSecretKey(mnemonic)
  const dispenser = devnetDispenser()
  if ((await microAlgosOf(algod, dispenser.addr)) >= neededMicroAlgos) return dispenser
  return fromKmd(algod, environment)
}

async function microAlgosOf(algod: algosdk.Algodv2, address: string | algosdk.Address): Promise<bigint> {
  return (await algod.accountInformation(address).do()).amount
}

async function fromKmd(algod: algosdk.Algodv2, environment: Environment): Promise<algosdk.Account> {
  const server = environment['KMD_SERVER'] ?? 'http://127.0.0.1'
  const port = environment['KMD_PORT'] ?? '4002'
  const kmd = new algosdk.Kmd(environment['KMD_TOKEN'] ?? localToken, server, port)
  try {
    return await richestKey(kmd, algod)
  } catch (error) {
    throw new NoFunderError(
      `no account to fund the scenario: the kmd at ${server}:${port} has none (${reasonOf(error)}); ` +
        'set DISPENSER_MNEMONIC, or KMD_SERVER, KMD_PORT and KMD_TOKEN',
    )
  }
}

async function richestKey(kmd: algosdk.Kmd, algod: algosdk.Algodv2): Promise<algosdk.Account> {
  const { wallets } = (await kmd.listWallets()) as { wallets: { id: string; name: string }[] }
  const wallet = wallets.find(({ name }) => name === walletName)
  if (wallet === undefined) throw new NoFunderError(`it has no wallet ${walletName}`)
  const { wallet_handle_token: handle } = await kmd.initWalletHandle(wallet.id, '')
  try {
    const { addresses } = (await kmd.listKeys(handle)) as { addresses: string[] }
    let best: { address: string; microAlgos: bigint } | undefined
    for (const address of addresses) {
      const microAlgos = await microAlgosOf(algod, address)
      if (microAlgos > (best?.microAlgos ?? 0n)) best = { address, microAlgos }
    }
    if (best === undefined || best.microAlgos < neededMicroAlgos) {
      throw new NoFunderError(`no key in ${walletName} has ${neededMicroAlgos} microAlgos`)
    }
    const { private_key: sk } = await kmd.exportKey(handle, '', best.address)
    return { addr: algosdk.Address.fromString(best.address), sk: new Uint8Array(sk) }
  } finally {
    await kmd.releaseWalletHandle(handle)
  }
}

export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message || (cause as { code?: string }).code}` : message
}

export class NoFunderError extends Error {
  override name = 'NoFunderError'
}

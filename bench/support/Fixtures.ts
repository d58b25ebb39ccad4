/** Creates the wallets that every daemon gets copies of, once, through the API of our daemon. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon } from './Daemon.js'
import * as DataDirectory from './DataDirectory.js'
import { masterDerivationKey } from './Payments.js'

export const password = 'correct horse battery staple'
export const keyCount = 100
/** Wallets that are unlocked repeatedly, each by one client. */
export const unlockWalletNames: readonly string[] = Array.from({ length: 10 }, (_, index) => `unlock-${index}`)
export const walletNames: readonly string[] = ['sign', 'generate', ...unlockWalletNames]

export type Fixtures = {
  /** A wallet file with default scrypt and `keyCount` keys. */
  wallet: string
  /** A wallet file to copy by the thousand: cheap scrypt, no keys. */
  listedWallet: string
}

export async function make(command: readonly string[], root: string): Promise<Fixtures> {
  return {
    wallet: await makeWallet(command, DataDirectory.create(join(root, 'wallet')), keyCount),
    listedWallet: await makeWallet(command, DataDirectory.create(join(root, 'listed'), 'unsafe'), 0),
  }
}

async function makeWallet(command: readonly string[], dataDir: string, keys: number): Promise<string> {
  const daemon = await Daemon.start(command, dataDir)
  try {
    const { wallet } = (await daemon.call('POST', '/v1/wallet', {
      wallet_name: 'template',
      wallet_driver_name: 'sqlite',
      wallet_password: password,
      master_derivation_key: Buffer.from(masterDerivationKey).toString('base64'),
    })) as { wallet: { id: string } }
    if (keys > 0) {
      const handle = await daemon.unlock(wallet.id, password)
      for (let made = 0; made < keys; made++) await daemon.call('POST', '/v1/key', { wallet_handle_token: handle })
    }
  } finally {
    await daemon.stop()
  }
  const directory = DataDirectory.walletsOf(dataDir)
  return join(directory, readdirSync(directory).find((name) => name.endsWith('.db'))!)
}

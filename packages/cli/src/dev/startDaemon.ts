/** The key daemon of a stack, with the wallet that tools expect and one with the key of the buyer. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DevAccount, Devnet } from '@latchkey/devnet'
import { Daemon, type DaemonOptions } from '@latchkey/kmd'
import { Kmd, KmdClientError, type Wallet } from '@latchkey/kmd-client'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { limitDaemonMemory } from '../daemonMemory.js'
import { CommandError } from '../errors.js'
import { latchkeyCommand } from '../latchkeyCommand.js'
import { accountLabel, buyerWallet, defaultWallet, token } from '../stack/stackValues.js'
import { kmdDirectoryName } from '../stack/stateDirectory.js'
import type { PortFor } from './freePort.js'
import type { StackDirectory } from './StackDirectory.js'

export type StartDaemonOptions = {
  readonly directory: StackDirectory
  readonly devnet: Devnet
  readonly port: number
  readonly onPorts: <T>(start: (portFor: PortFor) => Promise<T>) => Promise<T>
  readonly allowedOrigins: readonly string[]
  readonly onSignature: DaemonOptions['onSignature']
}

export type StartedDaemon = {
  readonly url: string
  readonly dataDir: string
  readonly buyer: string
  /** Creates a one-time link to the web console. */
  readonly consoleLink: () => string
  readonly stop: () => Promise<void>
}

/** @throws CommandError `stack_unusable` if a wallet of an earlier stack cannot be opened */
export async function startDaemon(options: StartDaemonOptions): Promise<StartedDaemon> {
  const { directory, devnet, port: preferred, onPorts, allowedOrigins, onSignature } = options
  const dataDir = join(directory.path, kmdDirectoryName)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  AtomicFile.replaceSync(join(dataDir, 'kmd.token'), token)
  const onWorkerStart = limitDaemonMemory()
  const daemon = await onPorts(async (portFor) => {
    const address = `127.0.0.1:${await portFor(preferred)}`
    // The console shows what was signed before a restart, which only the audit log keeps.
    const settings = {
      address,
      allowed_origins: allowedOrigins,
      allow_header_pna: true,
      audit: 'all',
      ...lightScrypt,
    }
    AtomicFile.replaceSync(join(dataDir, 'kmd_config.json'), JSON.stringify(settings))
    return Daemon.start({
      dataDir,
      wire: 'reference',
      node: { url: devnet.url },
      // For dApps under development, and the paywall of the seller.
      allowLoopbackOrigins: true,
      onWorkerStart,
      command: latchkeyCommand(),
      onSignature,
    })
  })
  try {
    const buyer = await prepareWallets(dataDir, devnet, directory.buyer)
    // Longer than usual, because nothing here has any value.
    const consoleLink = (): string => daemon.consoleLink({ lifetimeMs: 3_600_000 })
    return { url: `http://${daemon.address}`, dataDir, buyer, consoleLink, stop: () => daemon.stop() }
  } catch (error) {
    await daemon.stop()
    throw error
  }
}

/** The keys have no value, so deriving the password can be fast. */
const lightScrypt = {
  drivers: { sqlite: { scrypt: { scrypt_n: 1024, scrypt_r: 1, scrypt_p: 1 }, allow_unsafe_scrypt: true } },
}

/** Creates the wallets that are missing from an earlier stack, and returns the address of the buyer. */
async function prepareWallets(
  dataDir: string,
  { onlineAccounts, faucet, accounts }: Devnet,
  earlierBuyer: string | undefined,
): Promise<string> {
  const kmd = await Kmd.connect({ dataDir })
  try {
    const rich = await openWallet(kmd, defaultWallet)
    const keys = await rich.keys()
    for (const { address, secretKey } of onlineAccounts) {
      if (!keys.includes(address)) await rich.importKey(new Uint8Array(Buffer.from(secretKey, 'base64')))
    }
    await rich.release()
    const wallet = await openWallet(kmd, buyerWallet)
    const [first, ...others] = await wallet.keys()
    const known = [first, ...others].find((address) => address === earlierBuyer)
    const buyer = known ?? first ?? (await wallet.generateKey())
    await wallet.release()
    await labelAccounts(kmd, [...onlineAccounts, faucet, ...accounts])
    return buyer
  } finally {
    kmd.close()
  }
}

/**
 * Puts the devnet's accounts into the address book, so that `latchkey send` and the console know `account-1`. Labels of
 * the owner are kept.
 */
async function labelAccounts(kmd: Kmd, accounts: readonly DevAccount[]): Promise<void> {
  const labelled = new Set((await kmd.contacts.list()).map(({ address }) => address))
  for (const { name, address } of accounts.filter((account) => !labelled.has(account.address))) {
    try {
      await kmd.contacts.set({ address, label: accountLabel(name) })
    } catch (error) {
      // The owner gave the label to another address.
      if (!(error instanceof KmdClientError)) throw error
    }
  }
}

async function openWallet(kmd: Kmd, name: string): Promise<Wallet> {
  const isThere = (await kmd.wallets.list()).some((wallet) => wallet.name === name)
  if (!isThere) await kmd.wallets.create({ name, password: '' })
  try {
    return await kmd.unlock({ name, password: '' })
  } catch (cause) {
    if (!(cause instanceof KmdClientError) || cause.code !== 'wrong_password') throw cause
    const hint = `remove the password or rename the wallet: latchkey kmd -d DIR, then latchkey wallet password ${name} -d DIR. To start over: latchkey dev --fresh`
    throw new CommandError('stack_unusable', `the wallet ${name} now has a password, but the stack needs a blank one`, {
      hint,
      cause,
    })
  }
}

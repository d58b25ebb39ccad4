/** Loads accounts of wallets, and what accounts hold. */
import { Address } from '@latchkey/algorand'
import { keyOperations, multisigOperations, nodeOperations } from '@latchkey/kmd-api/operations'
import type { Daemon } from './daemon.js'
import type { MultisigAccount, WalletContents } from './model/signerOptions.js'
import type { Account } from './responseTypes.js'

const maxAccountsPerRequest = 100

/** Cached without expiry: the address is a hash of the members, so they never change. */
const knownMultisigs = new Map<string, MultisigAccount>()

export async function loadContents(daemon: Daemon, handle: string): Promise<WalletContents> {
  const request = { wallet_handle_token: handle }
  const [{ addresses: keys }, { addresses }] = await Promise.all([
    daemon.call(keyOperations.ListKeysInWallet, request),
    daemon.call(multisigOperations.ListMultisig, request),
  ])
  return { keys, multisigs: await Promise.all(addresses.map((address) => loadMultisig(daemon, handle, address))) }
}

async function loadMultisig(daemon: Daemon, handle: string, address: string): Promise<MultisigAccount> {
  const known = knownMultisigs.get(address)
  if (known !== undefined) return known
  const request = { wallet_handle_token: handle, address }
  const { multisigVersion, threshold, pks } = await daemon.call(multisigOperations.ExportMultisig, request)
  const multisig = { address, version: multisigVersion, threshold, members: pks.map((key) => Address.encode(key)) }
  knownMultisigs.set(address, multisig)
  return multisig
}

export async function loadAccounts(daemon: Daemon, addresses: readonly string[]): Promise<Account[]> {
  const accounts: Account[] = []
  for (let at = 0; at < addresses.length; at += maxAccountsPerRequest) {
    const request = { addresses: addresses.slice(at, at + maxAccountsPerRequest) }
    accounts.push(...(await daemon.call(nodeOperations.GetAccounts, request)).accounts)
  }
  return accounts
}

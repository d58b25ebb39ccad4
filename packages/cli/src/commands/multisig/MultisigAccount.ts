/** A multisig account of a wallet. */
import { Address } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import { CommandError } from '../../errors.js'
import { quoted } from '../../format.js'

export type MultisigAccount = {
  readonly address: string
  readonly version: number
  readonly threshold: number
  readonly members: readonly { readonly address: string; readonly isHere: boolean }[]
}

export async function findAccount(wallet: Wallet, address: string): Promise<MultisigAccount> {
  if (!(await wallet.multisigs()).includes(address)) {
    throw new CommandError(
      'multisig_not_found',
      `the wallet ${quoted(wallet.name)} has no multisig account ${address}`,
      {
        hint: 'list the multisig accounts with latchkey multisig list',
      },
    )
  }
  return readMultisigAccount(wallet, address, new Set(await wallet.keys()))
}

export async function readMultisigAccount(
  wallet: Wallet,
  address: string,
  own: ReadonlySet<string>,
): Promise<MultisigAccount> {
  const { version, threshold, publicKeys } = await wallet.exportMultisig(address)
  const members = publicKeys.map((key) => Address.encode(key))
  return { address, version, threshold, members: members.map((one) => ({ address: one, isHere: own.has(one) })) }
}

/** The command that recreates the account. It contains no secrets. */
export function createCommand({ threshold, members }: MultisigAccount): string {
  return `latchkey multisig new --threshold ${threshold} ${members.map(({ address }) => address).join(' ')}`
}

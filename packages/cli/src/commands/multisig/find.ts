/** A multisig account of a wallet, as it is said on the command line. */
import { Address } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import { CommandError } from '../../exitCodes.js'
import { quoted } from '../../printable.js'

export type Account = {
  readonly address: string
  readonly version: number
  readonly threshold: number
  readonly members: readonly { readonly address: string; readonly isHere: boolean }[]
}

export async function findAccount(wallet: Wallet, address: string): Promise<Account> {
  if (!(await wallet.multisigs()).includes(address)) {
    const what = `there is no multisig account ${address} in ${quoted(wallet.name)}`
    throw new CommandError('failed', `${what}; latchkey multisig list shows them`)
  }
  return describe(wallet, address, new Set(await wallet.keys()))
}

export async function describe(wallet: Wallet, address: string, own: ReadonlySet<string>): Promise<Account> {
  const { version, threshold, publicKeys } = await wallet.exportMultisig(address)
  const members = publicKeys.map((key) => Address.encode(key))
  return { address, version, threshold, members: members.map((one) => ({ address: one, isHere: own.has(one) })) }
}

/** What makes it again: anybody may know it. */
export function remake({ threshold, members }: Account): string {
  return `latchkey multisig new --threshold ${threshold} ${members.map(({ address }) => address).join(' ')}`
}

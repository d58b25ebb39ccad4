/** The account of a command, and the key of the wallet that signs for it. */

import type { AccountHoldings } from '@latchkey/algod'
import { Address, Amount } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import type { Chain } from '@latchkey/x402/client'
import type { Option } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'

export type Account = {
  readonly address: string
  readonly holdings: AccountHoldings
  /** The address of the signing key: its own, or the one it is rekeyed to. */
  readonly key: string
}

export const accountOption = {
  type: 'string',
  aliases: ['from'],
  placeholder: 'ADDRESS',
  description: 'account to use, or a wallet with a single key; optional if there is only one key',
} as const satisfies Option

const maxListed = 5

/** Returns the address or the wallet that an option names. */
export function readAccount(
  option: string,
  text: string | undefined,
  wallet: string | undefined,
): { readonly address: string | undefined; readonly wallet: string | undefined } {
  if (text === undefined || Address.isValid(text)) return { address: text, wallet }
  checkNoTypo(option, text)
  if (wallet !== undefined && wallet !== text) {
    throw new UsageError(`${option} names the wallet ${quoted(text)}, but --wallet names ${quoted(wallet)}`)
  }
  return { address: undefined, wallet: text }
}

/** A mistyped address must not be treated as another kind of name. */
export function checkNoTypo(option: string, text: string): void {
  if (Address.isValid(text) || !/^[A-Z2-7]{50,66}$/.test(text)) return
  throw new UsageError(`${option} is not an Algorand address: ${quoted(text)}`, {
    code: 'invalid_value',
    hint: 'the checksum does not match: copy the address again',
  })
}

export function readAddress(name: string, text: string): string {
  if (Address.isValid(text)) return text
  checkNoTypo(name, text)
  throw new UsageError(`${name} is not an Algorand address: ${quoted(text.slice(0, 80))}`, { code: 'invalid_value' })
}

/** Finds the account and its key: the named one, that of the environment, or the only one of the wallet. */
export async function chooseAccount(chain: Chain, wallet: Wallet, given: string | undefined): Promise<Account> {
  const keys = await wallet.keys()
  const address = given ?? onlyOne(keys, wallet)
  const holdings = await chain.algod.accountWithHoldings(address)
  const key = holdings.authAddress ?? address
  if (keys.includes(key)) return { address, holdings, key }
  if (holdings.authAddress !== undefined) {
    const message = `${address} is rekeyed to ${key}, and wallet ${quoted(wallet.name)} does not have that key; nothing was signed`
    throw new CommandError('key_not_found', message, {
      hint: 'give the wallet that has the key with --wallet, or import the key with latchkey key import',
    })
  }
  if ((await wallet.multisigs()).includes(address)) {
    throw new CommandError('multisig_account', `${address} is a multisig account, which needs several signatures`, {
      hint: `create the transaction with another tool, then sign it with latchkey sign FILE --multisig ${address} --member ADDRESS --submit`,
    })
  }
  throw new CommandError('key_not_found', `wallet ${quoted(wallet.name)} does not have the key of ${address}`, {
    hint: 'list its keys with latchkey key list, or give another wallet with --wallet',
  })
}

function onlyOne(keys: readonly string[], wallet: Wallet): string {
  const preferred = process.env['KMD_KEY'] ?? ''
  if (keys.includes(preferred)) return preferred
  const [first] = keys
  if (first === undefined) {
    throw new CommandError('key_not_found', `the wallet ${quoted(wallet.name)} has no key yet`, {
      hint: 'generate one with latchkey key new',
    })
  }
  if (keys.length === 1) return first
  const shown = keys.slice(0, maxListed).join(', ')
  throw new UsageError(
    `the wallet ${quoted(wallet.name)} has several keys: ${shown}${keys.length > maxListed ? ' and others' : ''}`,
    { hint: 'select one with --from' },
  )
}

/** Describes the balance of an account and its required minimum. */
export function describeAlgos(state: { microAlgos: bigint; minBalance: bigint }): string {
  return `${Amount.formatAlgos(state.microAlgos)}, of which ${Amount.formatAlgos(state.minBalance)} must stay`
}

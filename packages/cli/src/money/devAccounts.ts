/** The funded accounts of a devnet, by name: `account-1`, `dispenser`. Real networks have none. */
import { Address, Network, Suggestion } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'
import { accountLabel } from '../stack/stackValues.js'
import { readAddress } from './Account.js'

export type DevAccount = {
  /** The name without spaces, as in the address book of a dev stack. */
  readonly label: string
  readonly address: string
  readonly mnemonic: string
  /** The dollar assets of the devnet. */
  readonly dollarAssetIds: readonly bigint[]
}

/** @throws CommandError `faucet_unavailable` if the node is not a devnet */
export async function devAccounts(chain: Chain): Promise<DevAccount[]> {
  await chain.parameters()
  const devnet = await chain.algod.devnet()
  if (devnet === undefined) {
    throw new CommandError('faucet_unavailable', 'the node is not a latchkey devnet and has no development accounts', {
      hint: 'start one with latchkey dev, or name its node with --node',
    })
  }
  const { accounts = [], dollarAssetIds } = devnet
  return accounts.map(({ name, address, mnemonic }) => ({
    label: accountLabel(name),
    address,
    mnemonic,
    dollarAssetIds,
  }))
}

/** @throws CommandError `contact_not_found` */
export async function findDevAccount(chain: Chain, text: string): Promise<DevAccount> {
  const accounts = await devAccounts(chain)
  const wanted = accountLabel(text.trim().toLowerCase())
  const found = accounts.find(({ label, address }) => label === wanted || address === text)
  if (found !== undefined) return found
  const labels = accounts.map(({ label }) => label)
  throw new CommandError('contact_not_found', `the devnet has no account ${quoted(text.slice(0, 80))}`, {
    hint: Suggestion.didYouMean(wanted.slice(0, 80), labels) ?? 'list the accounts with latchkey devnet accounts',
  })
}

/** Returns an address: the given one, or that of a devnet's account with this name. @throws UsageError */
export async function resolveAddress(chain: Chain, name: string, text: string): Promise<string> {
  const isLocal = Network.parse(chain.caip2).network === undefined
  if (Address.isValid(text) || !isLocal || !/^[A-Za-z][A-Za-z0-9 -]{0,40}$/.test(text)) return readAddress(name, text)
  try {
    return (await findDevAccount(chain, text)).address
  } catch (cause) {
    if (!(cause instanceof CommandError)) throw cause
    const message = `${name} is not an Algorand address, nor an account of a devnet: ${quoted(text)}`
    throw new UsageError(message, { code: 'invalid_value', hint: cause.hint, cause })
  }
}

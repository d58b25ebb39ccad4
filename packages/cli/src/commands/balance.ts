/** `latchkey balance [ADDRESS...]`: shows balances and their spendable part, by asset. */
import { Amount, Network, Readable } from '@latchkey/algorand'
import { type Chain, Funds } from '@latchkey/x402/client'
import { command, jsonOption } from '../Command.js'
import { chainOptions, openReadingChain } from '../chain.js'
import { walletOptions, withWallet } from '../daemon.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { columns, printable, quoted } from '../format.js'
import { printJson, printMessage, printResult, withProgress } from '../messages.js'
import { type Asset, assetOfHolding, formatAmount } from '../money/assets.js'
import { resolveAddress } from '../money/devAccounts.js'

const maxAddresses = 1_000
const maxParallel = 8

type Held = { readonly asset: Asset; readonly units: bigint; readonly isFrozen: boolean }
type Balance = {
  readonly address: string
  readonly microAlgos: bigint
  readonly minBalance: bigint
  readonly rekeyedTo: string | undefined
  readonly assets: readonly Held[]
  /** The number of assets that are not listed. */
  readonly assetsLeftOut: number
}

export const balanceCommand = command({
  description: `Show account balances: ALGO, how much can be spent beyond the minimum balance, and every asset with its unit. Without \
addresses, show all accounts of a wallet.`,
  positionals: [
    {
      name: 'ADDRESS',
      isOptional: true,
      isVariadic: true,
      description: 'address of an account; on a devnet also its name, such as account-3',
    },
  ],
  options: { ...chainOptions, ...walletOptions, ...jsonOption },
  notes:
    "With addresses, the command needs no key daemon. If --node is given without --network, the network is the node's own.",
  examples: [
    'latchkey balance',
    'latchkey balance --wallet savings --network testnet',
    'latchkey balance ADDRESS --json',
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args }) => {
    if (args.length > maxAddresses) throw new UsageError(`at most ${maxAddresses} addresses`)
    const chain = await openReadingChain(options, process.env)
    const given = await Promise.all(args.map((one) => resolveAddress(chain, 'ADDRESS', one)))
    await chain.parameters()
    const all = given.length > 0 ? given : await withWallet(options, ({ wallet }) => accountsOf(wallet))
    const addresses = all.slice(0, maxAddresses)
    const accountsLeftOut = all.length - addresses.length
    const found = await withProgress('Reading balances', readAll(chain, addresses))
    if (options.json) printJson({ network: chain.caip2, accounts: found.map(toJson), accountsLeftOut })
    else {
      printMessage(`On ${Network.phrase(chain.caip2)}:`)
      printResult(found.map(block).join('\n'))
      explainDollars(found)
      if (accountsLeftOut > 0)
        printMessage(`${accountsLeftOut} more accounts of the wallet are not listed; give their addresses to see them.`)
    }
    return exitCodes.ok
  },
})

/** The same unit twice needs an explanation. */
function explainDollars(balances: readonly Balance[]): void {
  const dollars = balances.flatMap(({ assets }) => assets.filter(({ asset }) => asset.unit === 'USDC'))
  const text = Readable.dollarKinds(dollars.map(({ asset }) => asset.assetId))
  if (text !== undefined) printMessage(text)
}

async function accountsOf(wallet: {
  readonly name: string
  keys: () => Promise<string[]>
  multisigs: () => Promise<string[]>
}): Promise<string[]> {
  const addresses = [...new Set([...(await wallet.keys()), ...(await wallet.multisigs())])]
  if (addresses.length > 0) return addresses
  printMessage(`The wallet ${quoted(wallet.name)} has no key yet. To generate one: latchkey key new`)
  return []
}

async function readAll(chain: Chain, addresses: readonly string[]): Promise<Balance[]> {
  const found: Balance[] = []
  for (let at = 0; at < addresses.length; at += maxParallel) {
    found.push(...(await Promise.all(addresses.slice(at, at + maxParallel).map((one) => read(chain, one)))))
  }
  return found
}

async function read(chain: Chain, address: string): Promise<Balance> {
  const { microAlgos, minBalance, authAddress, holdings, holdingCount } = await chain.algod.accountWithHoldings(address)
  const assets: Held[] = []
  for (const { assetId, amount, isFrozen } of holdings) {
    assets.push({ asset: await assetOfHolding(chain, assetId), units: amount, isFrozen })
  }
  return {
    address,
    microAlgos,
    minBalance,
    rekeyedTo: authAddress,
    assets,
    assetsLeftOut: holdingCount - assets.length,
  }
}

function block(balance: Balance): string {
  const { address, microAlgos, minBalance, rekeyedTo, assets, assetsLeftOut } = balance
  const algosOf = (amount: bigint): string => Readable.money({ assetId: 0n, amount })
  const free = algosOf(Funds.spendable(balance))
  const rows = [
    [algosOf(microAlgos), `${free} to spend, ${algosOf(minBalance)} must stay`],
    ...assets.map(({ asset, units, isFrozen }) => [
      formatAmount({ asset, units }),
      `asset ${asset.assetId}${isFrozen ? ', frozen' : ''}`,
    ]),
    ...(assetsLeftOut > 0 ? [[`and ${assetsLeftOut} more assets`, '']] : []),
    ...(rekeyedTo === undefined ? [] : [[`rekeyed to ${rekeyedTo}`, '']]),
  ]
  return `${printable(address)}\n${columns(rows).replaceAll(/^(?=.)/gm, '  ')}`
}

function toJson(balance: Balance) {
  const { address, microAlgos, minBalance, rekeyedTo, assets, assetsLeftOut } = balance
  const algos = (amount: bigint): string => Amount.format(amount, Amount.algoDecimals)
  return {
    address,
    algos: algos(microAlgos),
    minBalance: algos(minBalance),
    spendable: algos(Funds.spendable(balance)),
    rekeyedTo: rekeyedTo ?? null,
    assets: assets.map(({ asset, units, isFrozen }) => ({
      asset: `${asset.assetId}`,
      unit: asset.unit,
      amount: Amount.format(units, asset.decimals),
      isFrozen,
    })),
    assetsLeftOut,
  }
}

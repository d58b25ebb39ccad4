/** `latchkey devnet accounts [NAME]`: lists the funded accounts of a running devnet, or prints one of them. */
import { Amount, Readable } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { command, jsonOption } from '../../Command.js'
import { chainOptions, openReadingChain } from '../../chain.js'
import { UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printLine, printMessage, printResult, withProgress } from '../../messages.js'
import { type DevAccount, devAccounts, findDevAccount } from '../../money/devAccounts.js'
import { dollarAssetId } from '../../stack/stackValues.js'

type Balance = DevAccount & { readonly microAlgos: bigint; readonly dollars: ReadonlyMap<bigint, bigint> }

export const devnetAccountsCommand = command({
  description: `List the funded accounts of a running devnet (latchkey dev, latchkey devnet): name, address and balance. With NAME, print only the address of \
that account. The keys of these accounts are public; nothing on a devnet has any value.`,
  positionals: [{ name: 'NAME', isOptional: true, description: 'an account, such as account-3' }],
  options: {
    mnemonic: { type: 'boolean', description: 'with NAME: print the 25 words of its key instead' },
    node: chainOptions.node,
    network: chainOptions.network,
    ...jsonOption,
  },
  notes: "latchkey dev also puts the accounts into its address book: latchkey send '1 ALGO' account-3",
  examples: [
    'latchkey devnet accounts',
    'latchkey devnet accounts account-3',
    'latchkey devnet accounts account-3 --mnemonic',
  ],
  exits: ['unreachable'],
  run: async ({ options, args: [name] }) => {
    if (options.mnemonic && name === undefined) throw new UsageError('--mnemonic needs NAME')
    const node = options.node ?? (process.env['ALGOD_URL'] ? undefined : [defaultNode])
    const chain = await openReadingChain({ ...options, node }, process.env)
    if (name !== undefined) {
      const { address, mnemonic, label } = await findDevAccount(chain, name)
      if (options.json) printJson({ account: { name: label, address, mnemonic } })
      else printLine(options.mnemonic ? mnemonic : address)
      return exitCodes.ok
    }
    const accounts = await devAccounts(chain)
    const balances = await withProgress('Reading balances', Promise.all(accounts.map((one) => read(chain, one))))
    if (options.json) printJson({ accounts: balances.map(toJson) })
    else print(balances)
    return exitCodes.ok
  },
})

/** The port of `latchkey dev` and `latchkey devnet`. */
const defaultNode = 'http://127.0.0.1:4001'

async function read(chain: Chain, account: DevAccount): Promise<Balance> {
  const { microAlgos, holdings } = await chain.algod.accountWithHoldings(account.address)
  const kinds = new Set(account.dollarAssetIds)
  const dollars = new Map(holdings.flatMap(({ assetId, amount }) => (kinds.has(assetId) ? [[assetId, amount]] : [])))
  return { ...account, microAlgos, dollars }
}

function print(balances: readonly Balance[]): void {
  const kinds = balances[0]?.dollarAssetIds ?? []
  const rows = balances.map(({ label, address, microAlgos, dollars }) => {
    const held = kinds.flatMap((id) => dollarText(id, dollars.get(id)))
    return [label, address, [Readable.money({ assetId: 0n, amount: microAlgos }), ...held].join(', ')]
  })
  printResult(columns(rows))
  const kindsText = Readable.dollarKinds(kinds)
  if (kindsText !== undefined) printMessage(`${kindsText} Prices in dollars mean asset ${dollarAssetId}.`)
}

function dollarText(assetId: bigint, amount: bigint | undefined): string[] {
  return amount === undefined ? [] : [`${Amount.formatGrouped(amount, 6)} USDC (${assetId})`]
}

function toJson({ label, address, mnemonic, microAlgos, dollars }: Balance): object {
  return {
    name: label,
    address,
    mnemonic,
    algos: Amount.format(microAlgos, Amount.algoDecimals),
    dollars: Object.fromEntries([...dollars].map(([id, amount]) => [`${id}`, Amount.format(amount, 6)])),
  }
}

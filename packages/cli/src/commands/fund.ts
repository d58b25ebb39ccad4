/** `latchkey fund ADDRESS [AMOUNT...]`: sends ALGO and dollars from the faucet of a devnet. */
import { AlgodError } from '@latchkey/algod'
import { Amount, Network } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { command, jsonOption } from '../Command.js'
import { chainOptions, openChain } from '../chain.js'
import { CommandError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printLine, printMessage, withProgress } from '../messages.js'
import { type AssetAmount, dollarOf, formatAmount, nameOf, readAmount } from '../money/assets.js'
import { resolveAddress } from '../money/devAccounts.js'

const defaultAlgos = '10 ALGO'
const defaultDollars = 10n

/** Pages that give out ALGO and dollars without value. */
const faucetPages: { readonly [name: string]: { readonly algo: string; readonly usdc?: string } } = {
  testnet: { algo: 'https://lora.algokit.io/testnet/fund', usdc: 'https://faucet.circle.com' },
}

export const fundCommand = command({
  description: `Fund an account with ALGO and dollars from a devnet's faucet (latchkey dev, latchkey devnet) and opt it in to the asset. \
A devnet has no real value, so the command asks for no confirmation and signs nothing.`,
  positionals: [
    { name: 'ADDRESS', description: 'account to fund; on a devnet also the name of its account, such as account-3' },
    {
      name: 'AMOUNT',
      isOptional: true,
      isVariadic: true,
      description: "amount with its unit: '5 ALGO', '2.5 USDC', '7 #1234' ('10 ALGO' and '10 USDC')",
    },
  ],
  options: { ...chainOptions, ...jsonOption },
  notes: 'On a public test network, the command names the faucet page, if there is one.',
  examples: ['latchkey fund ADDRESS', "latchkey fund ADDRESS '5 ALGO' '2.5 USDC'"],
  run: async ({ options, args: [to, ...amounts] }) => {
    const chain = await openChain(options, process.env)
    const address = await resolveAddress(chain, 'ADDRESS', to!)
    await checkFaucet(chain, address)
    const sums = await readSums(chain, amounts)
    for (const sum of sums) await withProgress('Funding', give(chain, address, sum))
    const { microAlgos } = await chain.algod.account(address)
    const given = sums.map(formatAmount).join(' and ')
    printMessage(`Funded ${address} with ${given}; its balance is ${Amount.formatAlgos(microAlgos)}.`)
    if (options.json) {
      const funded = sums.map(({ asset, units }) => ({
        asset: `${asset.assetId}`,
        unit: asset.unit,
        amount: Amount.format(units, asset.decimals),
      }))
      printJson({ address, funded, algos: Amount.format(microAlgos, Amount.algoDecimals) })
    } else printLine(address)
    return exitCodes.ok
  },
})

/** Runs first, so that the node of a public network is not asked for a faucet it does not have. */
async function checkFaucet(chain: Chain, address: string): Promise<void> {
  const { network } = Network.parse(chain.caip2)
  if (network !== undefined) throw noFaucet(network.name, network.displayName, address)
  await chain.parameters()
  if ((await chain.algod.devnet()) !== undefined) return
  throw new CommandError('faucet_unavailable', 'the node is not a latchkey devnet and has no faucet', {
    hint: `send from a funded account: latchkey send '${defaultAlgos}' ${address} --from ADDRESS`,
  })
}

function noFaucet(name: string, displayName: string, address: string): CommandError {
  const pages = faucetPages[name]
  const hint =
    pages === undefined
      ? `send from a funded account: latchkey send '1 ALGO' ${address} --from ADDRESS --network ${name}`
      : `get ALGO for ${address} from ${pages.algo}${pages.usdc === undefined ? '' : `; get USDC from ${pages.usdc}, after latchkey opt-in USDC --network ${name}`}`
  return new CommandError('faucet_unavailable', `latchkey fund works only on a devnet, not on ${displayName}`, { hint })
}

async function readSums(chain: Chain, amounts: readonly string[]): Promise<AssetAmount[]> {
  if (amounts.length > 0) {
    const sums: AssetAmount[] = []
    for (const amount of amounts) sums.push(await readAmount(chain, amount))
    return sums
  }
  const dollar = await dollarOf(chain)
  const algos = await readAmount(chain, defaultAlgos)
  return dollar === undefined
    ? [algos]
    : [algos, { asset: dollar, units: defaultDollars * 10n ** BigInt(dollar.decimals) }]
}

async function give({ algod }: Chain, address: string, { asset, units }: AssetAmount): Promise<void> {
  try {
    await algod.fund(
      asset.assetId === 0n
        ? { address, microAlgos: units }
        : { address, asset: { assetId: asset.assetId, amount: units } },
    )
  } catch (cause) {
    if (!(cause instanceof AlgodError)) throw cause
    throw new CommandError('faucet_unavailable', `the faucet gave no ${nameOf(asset)}: ${cause.message}`, { cause })
  }
}

/** `latchkey opt-out ASSET`: opts an account out of an asset, which frees 0.1 ALGO. */
import { Address } from '@latchkey/algorand'
import { type Chain, Funds } from '@latchkey/x402/client'
import { command } from '../Command.js'
import { openChain } from '../chain.js'
import { withWallet } from '../daemon.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printMessage } from '../messages.js'
import {
  type Account,
  accountOption,
  chooseAccount,
  describeAlgos,
  readAccount,
  readAddress,
} from '../money/Account.js'
import { act, actOptions, checkFunds } from '../money/act.js'
import { type Asset, assetOfHolding, findAsset, formatAmount, nameOf } from '../money/assets.js'
import { checkCanConfirm } from '../prompt.js'
import { holdingMicroAlgos } from './opt-in.js'

export const optOutCommand = command({
  description: `Opt an account out of an asset: describe the transaction, ask for confirmation, sign in the key daemon, send and wait for its round. The \
account's minimum balance decreases by 0.1 ALGO. The command prints the transaction id.`,
  positionals: [{ name: 'ASSET', description: 'id of the asset, or the unit of one that the account holds' }],
  options: {
    account: accountOption,
    to: {
      type: 'string',
      placeholder: 'ADDRESS',
      description: 'account that receives the remaining units of the asset; required if there are any',
    },
    ...actOptions,
  },
  notes: `Without --to, the ledger rejects the transaction if the account holds any of the asset, even units that arrive at the last moment. With --to, \
all units that the account then holds go to that account.`,
  examples: ['latchkey opt-out USDC', 'latchkey opt-out 1234 --account ADDRESS --to ADDRESS'],
  exits: ['declined', 'unreachable', 'password', 'pending', 'interrupted'],
  run: async ({ options, args: [name] }) => {
    const given = readAccount('--account', options.account, options.wallet)
    const to = options.to === undefined ? undefined : readAddress('--to', options.to)
    checkCanConfirm(options.yes)
    const chain = await openChain(options, process.env)
    await chain.parameters()
    return withWallet({ ...options, wallet: given.wallet }, async ({ wallet }) => {
      const account = await chooseAccount(chain, wallet, given.address)
      const { address, holdings } = account
      const asset = await heldAsset(chain, name!, account)
      if (to === address) throw new UsageError('--to is the account itself')
      const holding = await chain.algod.holding(address, asset.assetId)
      if (holding === undefined) {
        printMessage(`${address} is not opted in to ${nameOf(asset)}; nothing was done.`)
        if (options.json) printJson({ id: null, state: 'opted_out', account: address, asset: `${asset.assetId}` })
        return exitCodes.ok
      }
      const left = formatAmount({ asset, units: holding.amount })
      if (holding.amount > 0n && to === undefined) throw notEmpty(address, asset, left)
      const self = Address.decode(address)
      const minBalance = holdings.minBalance - holdingMicroAlgos
      return act({
        chain,
        wallet,
        options,
        account,
        asset,
        // Closes to the account itself, which is only possible with an empty holding, so nothing can be lost.
        fields: {
          type: 'axfer',
          xaid: asset.assetId,
          arcv: self,
          aclose: to === undefined ? self : Address.decode(to),
        },
        check: async (fee) => {
          const cost = { payer: address, assetId: 0n, amount: 0n, feeMicroAlgos: fee }
          checkFunds(await Funds.payerProblem(chain, cost))
          if (to !== undefined) await checkDestination(chain, { asset, to, isFrozen: holding.isFrozen })
        },
        afterwards: (fee) => [
          to === undefined ? 'Nothing is lost: the account holds none of it.' : `${left} goes to ${to}.`,
          `Afterwards ${address} has ${describeAlgos({ microAlgos: holdings.microAlgos - fee, minBalance })}.`,
        ],
        word: to === undefined ? undefined : 'opt-out',
        facts: { account: address, asset: `${asset.assetId}`, unit: asset.unit, to: to ?? null },
      })
    })
  },
})

/** Also finds a destroyed asset by its id, because its holding stays until the account opts out. */
async function heldAsset(chain: Chain, name: string, { holdings }: Account): Promise<Asset> {
  const [, digits] = /^#?([0-9]{1,19})$/.exec(name) ?? []
  const asset =
    digits === undefined ? await findAsset(chain, name, holdings) : await assetOfHolding(chain, BigInt(digits))
  if (asset.assetId === 0n) throw new UsageError('no account can opt out of ALGO')
  return asset
}

function notEmpty(address: string, asset: Asset, left: string): CommandError {
  const message = `nothing was signed: ${address} holds ${left} (asset ${asset.assetId}), which would be lost`
  return new CommandError('holding_not_empty', message, {
    hint: `send the rest to another account first: latchkey send '${left.split(' ', 1)[0]} #${asset.assetId}' ADDRESS; or name the account that receives the rest with --to`,
  })
}

async function checkDestination(
  chain: Chain,
  { asset, to, isFrozen }: { asset: Asset; to: string; isFrozen: boolean },
): Promise<void> {
  const creator = (await chain.algod.asset(asset.assetId))?.creator
  if (isFrozen && creator !== to) {
    const message = `nothing was signed: ${nameOf(asset)} is frozen in the account`
    const hint = creator === undefined ? 'ask its issuer' : `only its creator can receive the rest: --to ${creator}`
    throw new CommandError('asset_frozen', message, { hint })
  }
  if (creator !== to) checkFunds(await Funds.receiverProblem(chain, to, asset.assetId))
}

/** `latchkey opt-in ASSET`: opts an account in to an asset. */
import { Address, Amount } from '@latchkey/algorand'
import { Funds } from '@latchkey/x402/client'
import { command } from '../Command.js'
import { openChain } from '../chain.js'
import { withWallet } from '../daemon.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printMessage } from '../messages.js'
import { accountOption, chooseAccount, describeAlgos, readAccount } from '../money/Account.js'
import { act, actOptions, checkFunds } from '../money/act.js'
import { findAsset, nameOf } from '../money/assets.js'
import { checkCanConfirm } from '../prompt.js'

/** The minimum balance for each asset that an account holds. */
export const holdingMicroAlgos = 100_000n

export const optInCommand = command({
  description: `Opt an account in to an asset, so that it can receive the asset: describe the transaction, ask for confirmation, sign in the key daemon, send and \
wait for its round. The account's minimum balance increases by 0.1 ALGO while it is opted in. The command prints the transaction id.`,
  positionals: [{ name: 'ASSET', description: 'id of the asset, or USDC for the dollar of the network' }],
  options: { account: accountOption, ...actOptions },
  examples: ['latchkey opt-in USDC', 'latchkey opt-in 10458941 --account ADDRESS --network testnet --yes'],
  exits: ['declined', 'unreachable', 'password', 'pending', 'interrupted'],
  run: async ({ options, args: [name] }) => {
    const given = readAccount('--account', options.account, options.wallet)
    checkCanConfirm(options.yes)
    const chain = await openChain(options, process.env)
    await chain.parameters()
    const asset = await findAsset(chain, name!)
    if (asset.assetId === 0n) throw new UsageError('ALGO needs no opt-in: every account can hold it')
    return withWallet({ ...options, wallet: given.wallet }, async ({ wallet }) => {
      const account = await chooseAccount(chain, wallet, given.address)
      const { address, holdings } = account
      if ((await chain.algod.holding(address, asset.assetId)) !== undefined) {
        printMessage(`${address} is already opted in to ${nameOf(asset)}; nothing was done.`)
        if (options.json) printJson({ id: null, state: 'opted_in', account: address, asset: `${asset.assetId}` })
        return exitCodes.ok
      }
      const minBalance = holdings.minBalance + holdingMicroAlgos
      const isFrozen = (await chain.algod.asset(asset.assetId))?.isFrozenByDefault ?? false
      return act({
        chain,
        wallet,
        options,
        account,
        asset,
        fields: { type: 'axfer', xaid: asset.assetId, arcv: Address.decode(address) },
        check: async (fee) => {
          const asked = fee + holdingMicroAlgos
          const left = Funds.spendable(holdings)
          if (asked <= left) return
          const short = Amount.formatAlgos(asked - left)
          const message = `${address} lacks ${short}: opting in takes ${Amount.formatAlgos(asked)}, of which 0.1 ALGO stays as minimum balance`
          const hint = `send it ${short}: ${Funds.fundCommand(chain, address, short)}`
          checkFunds({ code: 'insufficient_algos', message, hint })
        },
        afterwards: (fee) => [
          ...(isFrozen
            ? ['The asset is frozen by default: its freeze address must unfreeze it before the account can use it.']
            : []),
          `Afterwards ${address} has ${describeAlgos({ microAlgos: holdings.microAlgos - fee, minBalance })}.`,
        ],
        facts: { account: address, asset: `${asset.assetId}`, unit: asset.unit },
      })
    })
  },
})

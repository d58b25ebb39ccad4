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
  description: `Opts an account in to an asset, so that it can receive it: says what it costs, asks, signs in the key daemon, sends it and \
waits for its round. The account must keep 0.1 ALGO more for as long as it is opted in. Prints the id of the transaction.`,
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
    if (asset.assetId === 0n) throw new UsageError('every account can hold ALGO: there is nothing to opt in to')
    return withWallet({ ...options, wallet: given.wallet }, async ({ wallet }) => {
      const account = await chooseAccount(chain, wallet, given.address)
      const { address, holdings } = account
      if ((await chain.algod.holding(address, asset.assetId)) !== undefined) {
        printMessage(`${address} is opted in to ${nameOf(asset)} already; nothing was done.`)
        if (options.json) printJson({ id: null, state: 'opted_in', account: address, asset: `${asset.assetId}` })
        return exitCodes.ok
      }
      const minBalance = holdings.minBalance + holdingMicroAlgos
      const isFrozen = (await chain.algod.asset(asset.assetId))?.isFrozenByDefault ?? false
      return act({
        ...{ chain, wallet, options, account, asset },
        fields: { type: 'axfer', xaid: asset.assetId, arcv: Address.decode(address) },
        check: async (fee) => {
          const asked = fee + holdingMicroAlgos
          const left = Funds.spendable(holdings)
          if (asked <= left) return
          const short = Amount.formatAlgos(asked - left)
          const message = `${address} is short of ${short}: to opt in takes ${Amount.formatAlgos(asked)}, of which 0.1 ALGO must stay`
          const hint = `send it ${short}: ${Funds.fundCommand(chain, address, short)}`
          checkFunds({ code: 'insufficient_algos', message, hint })
        },
        afterwards: (fee) => [
          ...(isFrozen
            ? ['The asset is frozen at first: its issuer has to unfreeze it before the account can use it.']
            : []),
          `Afterwards ${address} has ${describeAlgos({ microAlgos: holdings.microAlgos - fee, minBalance })}.`,
        ],
        facts: { account: address, asset: `${asset.assetId}`, unit: asset.unit },
      })
    })
  },
})

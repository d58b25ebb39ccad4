/** `latchkey send AMOUNT TO`: sends ALGO or an asset from an account of the daemon. */
import { Address, Amount } from '@latchkey/algorand'
import { type Chain, Funds } from '@latchkey/x402/client'
import { command, type Values } from '../Command.js'
import { openChain } from '../chain.js'
import { withWallet } from '../daemon.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'
import {
  type Account,
  accountOption,
  checkNoTypo,
  chooseAccount,
  describeAlgos,
  readAccount,
} from '../money/Account.js'
import { act, actOptions, checkFunds } from '../money/act.js'
import { type AssetAmount, formatAmount, nameOf, readAmount } from '../money/assets.js'
import { findReceiver } from '../money/contacts.js'
import { checkCanConfirm } from '../prompt.js'

const sendOptions = {
  from: {
    ...accountOption,
    aliases: ['account'],
    description: 'account that pays, or a wallet with a single key; optional if there is only one key',
  },
  note: { type: 'string', placeholder: 'TEXT', description: 'note in the transaction, which is public' },
  ...actOptions,
} as const

export const sendCommand = command({
  description: `Send ALGO or an asset: describe the transaction, ask for confirmation, sign in the key daemon, send and wait for its \
round. The command prints the transaction id.`,
  positionals: [
    {
      name: 'AMOUNT',
      description: "amount with its unit: '2.5 USDC', '1 ALGO', or '7 #1234' for the asset with that id",
    },
    { name: 'TO', description: 'address of the receiver, or its label in the address book (latchkey contact list)' },
  ],
  options: sendOptions,
  notes: `A unit names the network's dollar or an asset that the sender holds; an ambiguous unit is refused. Preflight checks run before \
signing: funds including fee and minimum balance, the receiver's opt-in, frozen assets, rekeyed accounts.

The id is printed before the transaction is sent. If the outcome stays unknown (the node does not respond, Ctrl-C), the same command sends the \
same transaction again, never a second one; give --again for a second one. To see the transaction's status, run latchkey tx ID.`,
  examples: [
    "latchkey send '2.5 USDC' ADDRESS",
    "latchkey send '1 ALGO' ADDRESS --from ADDRESS --note lunch --network testnet",
    "latchkey send '7 #1234' 'Corner shop' --from savings --yes --json",
  ],
  exits: ['declined', 'unreachable', 'password', 'pending', 'interrupted'],
  run: async ({ options, args: [amount, to] }) => {
    checkNoTypo('TO', to!)
    const note = readNote(options.note)
    const given = readAccount('--from', options.from, options.wallet)
    if (given.address === to) throw sameAccount()
    checkCanConfirm(options.yes)
    const chain = await openChain(options, process.env)
    await chain.parameters()
    return withWallet({ ...options, wallet: given.wallet }, async ({ kmd, wallet }) => {
      const { address: receiver, label } = await findReceiver(kmd, to!)
      const account = await chooseAccount(chain, wallet, given.address)
      if (account.address === receiver) throw sameAccount()
      const sum = await readAmount(chain, amount!, account.holdings)
      return act({
        chain,
        wallet,
        options,
        account,
        asset: sum.asset,
        fields: { ...fieldsOf(sum, Address.decode(receiver)), note },
        check: (fee) => check({ chain, account, sum, receiver, fee }),
        afterwards: (fee) => [
          ...(label === undefined ? [] : [`In the address book, the receiver is ${quoted(label)}.`]),
          afterwards(account, sum, fee),
        ],
        facts: { from: account.address, to: receiver, amount: formatNumber(sum), ...assetFacts(sum) },
      })
    })
  },
})

/** The maximum that the network accepts. */
const maxNoteBytes = 1_024

function readNote(text: Values<typeof sendOptions>['note']): Uint8Array | undefined {
  if (text === undefined || text === '') return undefined
  const bytes = new Uint8Array(Buffer.from(text))
  if (bytes.length <= maxNoteBytes) return bytes
  throw new UsageError(`--note takes at most ${maxNoteBytes} bytes`, { code: 'invalid_value' })
}

function sameAccount(): UsageError {
  return new UsageError('sender and receiver are the same account', { hint: 'name the sender with --from' })
}

function fieldsOf({ asset, units }: AssetAmount, receiver: Uint8Array) {
  return asset.assetId === 0n
    ? { type: 'pay', rcv: receiver, amt: units }
    : { type: 'axfer', xaid: asset.assetId, arcv: receiver, aamt: units }
}

type Payment = { chain: Chain; account: Account; sum: AssetAmount; receiver: string; fee: bigint }

async function check({ chain, account, sum, receiver, fee }: Payment): Promise<void> {
  const { assetId } = sum.asset
  const cost = { payer: account.address, assetId, amount: sum.units, feeMicroAlgos: fee }
  checkFunds(await Funds.payerProblem(chain, cost))
  if (assetId === 0n) return checkMinimum(chain, sum, receiver)
  checkFunds(await Funds.receiverProblem(chain, receiver, assetId))
  const holding = await chain.algod.holding(receiver, assetId)
  if (holding?.isFrozen) {
    const message = `nothing was signed: ${nameOf(sum.asset)} is frozen in the account of the receiver, ${receiver}`
    throw new CommandError('asset_frozen', message, { hint: 'ask the issuer of the asset' })
  }
}

/** A new account is empty, and must hold its minimum balance from the first payment on. */
async function checkMinimum(chain: Chain, { units }: AssetAmount, receiver: string): Promise<void> {
  const { microAlgos, minBalance } = await chain.algod.account(receiver)
  if (microAlgos + units >= minBalance) return
  const what = microAlgos === 0n ? `${receiver} is a new account` : `${receiver} has ${Amount.formatAlgos(microAlgos)}`
  const message = `nothing was signed: ${what}, and must have at least ${Amount.formatAlgos(minBalance)}`
  throw new CommandError('receiver_below_minimum', message, {
    hint: `send it at least ${Amount.formatAlgos(minBalance - microAlgos)}`,
  })
}

function afterwards({ address, holdings }: Account, sum: AssetAmount, fee: bigint): string {
  const isAlgo = sum.asset.assetId === 0n
  const left = describeAlgos({ ...holdings, microAlgos: holdings.microAlgos - fee - (isAlgo ? sum.units : 0n) })
  if (isAlgo) return `Afterwards ${address} has ${left}.`
  const held = holdings.holdings.find(({ assetId }) => assetId === sum.asset.assetId)
  const rest = held === undefined ? '' : `${formatAmount({ ...sum, units: held.amount - sum.units })}, and `
  return `Afterwards ${address} has ${rest}${left}.`
}

function formatNumber({ asset, units }: AssetAmount): string {
  return Amount.format(units, asset.decimals)
}

function assetFacts({ asset }: AssetAmount): { unit: string; asset: string } {
  return { unit: asset.unit, asset: `${asset.assetId}` }
}

/** `latchkey audit anchor`: writes the hash of the last audit record to the ledger of a network. */
import { Address, Bytes } from '@latchkey/algorand'
import { Funds } from '@latchkey/x402/client'
import { command } from '../../Command.js'
import { openChain } from '../../chain.js'
import { withWallet } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { printMessage } from '../../messages.js'
import { accountOption, chooseAccount, describeAlgos, readAccount } from '../../money/Account.js'
import { act, actOptions, checkFunds } from '../../money/act.js'
import { checkCanConfirm } from '../../prompt.js'

const algo = { assetId: 0n, decimals: 6, unit: 'ALGO' }

export const auditAnchorCommand = command({
  description: `Anchor the audit log: send 0 ALGO from an account to itself, with the number and hash of the last record in the note. \
Any later change to the records up to that one can then be detected. Costs one transaction fee.`,
  options: { from: { ...accountOption, aliases: ['account'] }, ...actOptions },
  notes: `Keep the printed transaction id on another machine: with it, latchkey audit verify --anchor ID detects that \
the entire log was replaced. The note makes the number and the hash public, but no content of the log.`,
  examples: ['latchkey audit anchor --network testnet', 'latchkey audit anchor --from ADDRESS --yes --json'],
  exits: ['declined', 'unreachable', 'password', 'pending', 'interrupted'],
  run: async ({ options }) => {
    const given = readAccount('--from', options.from, options.wallet)
    checkCanConfirm(options.yes)
    const chain = await openChain(options, process.env)
    const { genesisHash } = await chain.parameters()
    return withWallet({ ...options, wallet: given.wallet }, async ({ kmd, wallet }) => {
      const account = await chooseAccount(chain, wallet, given.address)
      const { address } = account
      const { number, hash, note } = await kmd.audit.prepareAnchor()
      return act({
        chain,
        wallet,
        options,
        account,
        asset: algo,
        fields: { type: 'pay', rcv: Address.decode(address), amt: 0n, note: new Uint8Array(Buffer.from(note)) },
        check: async (fee) => {
          const cost = { payer: address, assetId: 0n, amount: 0n, feeMicroAlgos: fee }
          checkFunds(await Funds.payerProblem(chain, cost))
        },
        afterwards: (fee) => [
          `This anchors record ${number} of the audit log and all records before it.`,
          `Afterwards ${address} has ${describeAlgos({ ...account.holdings, microAlgos: account.holdings.microAlgos - fee })}.`,
        ],
        facts: { from: address, number: `${number}`, hash },
        onConfirmed: async (transaction, round) => {
          const network = Bytes.toBase64(genesisHash)
          const anchor = { note, transaction, address, network, round: Number(round ?? 0n) }
          await kmd.audit.recordAnchor(anchor).catch((cause: unknown) => {
            const message = `the anchor ${transaction} is in the ledger, but could not be added to the audit log: ${(cause as Error).message}`
            throw new CommandError('daemon_error', message, {
              hint: 'keep the id for latchkey audit verify --anchor',
              cause,
            })
          })
          printMessage(`Keep the id ${transaction} on another machine.`)
        },
      })
    })
  },
})

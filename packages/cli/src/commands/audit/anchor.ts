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
  description: `Anchors the audit log: sends 0 ALGO from an account to itself, with the number and the hash of the last record as its note. \
From then on nothing before it can be changed without notice. Costs the fee of one transaction.`,
  options: { from: { ...accountOption, aliases: ['account'] }, ...actOptions },
  notes: `The id of the transaction is printed. Keep it elsewhere than on this machine: latchkey audit verify --anchor ID finds with it that \
the log was replaced as a whole. The note tells the world a number and a hash, and nothing that is in the log.`,
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
        ...{ chain, wallet, options, account, asset: algo },
        fields: { type: 'pay', rcv: Address.decode(address), amt: 0n, note: new Uint8Array(Buffer.from(note)) },
        check: async (fee) => {
          const cost = { payer: address, assetId: 0n, amount: 0n, feeMicroAlgos: fee }
          checkFunds(await Funds.payerProblem(chain, cost))
        },
        afterwards: (fee) => [
          `It anchors record ${number} of the audit log and all before it.`,
          `Afterwards ${address} has ${describeAlgos({ ...account.holdings, microAlgos: account.holdings.microAlgos - fee })}.`,
        ],
        facts: { from: address, number: `${number}`, hash },
        onConfirmed: async (transaction, round) => {
          const network = Bytes.toBase64(genesisHash)
          const anchor = { note, transaction, address, network, round: Number(round ?? 0n) }
          await kmd.audit.recordAnchor(anchor).catch((cause: unknown) => {
            const message = `the anchor ${transaction} is in the ledger, but the audit log did not take it: ${(cause as Error).message}`
            throw new CommandError('daemon_error', message, { hint: 'keep the id: verify --anchor takes it', cause })
          })
          printMessage(`Keep the id ${transaction} elsewhere than on this machine.`)
        },
      })
    })
  },
})

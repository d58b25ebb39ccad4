/** `latchkey receipts list`: shows the receipts that sellers have signed. */
import { command, jsonOption } from '../../Command.js'
import { exitCodes } from '../../exitCodes.js'
import { columns, timeText } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'
import { logOption, paymentsIn, receiptJson, receiptsIn, signerText } from './storedReceipts.js'

export const receiptsListCommand = command({
  description: `List the receipts that sellers have signed for payments in a log, one line each: time, resource, transaction, and who \
signed. A receipt is a seller's statement; whether the signer is the seller is for you to decide.`,
  options: { ...logOption, ...jsonOption },
  examples: ['latchkey receipts list', "latchkey receipts list --json | jq -r '.receipts[].jws'"],
  run: async ({ options }) => {
    const receipts = receiptsIn(paymentsIn(options.log))
    if (options.json) printJson({ receipts: receipts.map(receiptJson) })
    else if (receipts.length === 0) printMessage('The log has no signed receipts. Sellers send them if they choose to.')
    else {
      const rows = receipts.map((checked) => {
        const { verified, problem, payment } = checked
        const signer = problem === undefined ? `signed by ${signerText(checked)}` : `NOT VALID: ${problem}`
        const time = verified === undefined ? '' : timeText(verified.receipt.issuedAt * 1_000)
        return [time, verified?.receipt.resourceUrl ?? '', payment!.transactionId, signer]
      })
      printResult(columns(rows))
    }
    return exitCodes.ok
  },
})

/** `latchkey receipts verify`: verifies receipts that sellers have signed, without a network. */
import { SignedReceipt } from '@latchkey/algorand'
import { command, jsonOption } from '../../Command.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { counted, timeText } from '../../format.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import {
  type CheckedReceipt,
  checkReceipt,
  logOption,
  paymentsIn,
  receiptJson,
  receiptsIn,
  signerText,
} from './storedReceipts.js'

export const receiptsVerifyCommand = command({
  description: `Verify the signature of a receipt, and compare it with its payment in the log. Without a receipt, verify all of the log. \
The command needs no network and no daemon.`,
  positionals: [
    {
      name: 'RECEIPT',
      description: 'a receipt, the id of its transaction in the log, or - for stdin',
      isOptional: true,
    },
  ],
  options: { ...logOption, ...jsonOption },
  notes: `A valid signature shows which key signed, not whose key it is. If the key is that of the account that was paid, the command says \
so. Compare any other key with one that the seller has published.`,
  examples: ['latchkey receipts verify', 'latchkey receipts verify ID', 'latchkey receipts verify - < receipt.txt'],
  run: async ({ options, args: [given] }) => {
    const checked = await checkedReceipts(given, options.log)
    const invalid = checked.filter(({ problem }) => problem !== undefined)
    if (options.json) printJson({ ok: invalid.length === 0, receipts: checked.map(receiptJson) })
    else for (const one of checked) print(one)
    if (!options.json && given === undefined) {
      printMessage(`${counted(checked.length - invalid.length, 'receipt')} valid, ${invalid.length} not valid.`)
    }
    return invalid.length === 0 ? exitCodes.ok : exitCodes.failed
  },
})

async function checkedReceipts(given: string | undefined, log: string | undefined): Promise<CheckedReceipt[]> {
  if (given === undefined) return receiptsIn(paymentsIn(log))
  const text = given === '-' ? (await readStdin()).trim() : given.trim()
  if (!/^[A-Z2-7]{52}$/.test(text)) {
    if (text.includes('.')) return [checkReceipt(text)]
    throw new UsageError('the receipt is neither a JWS nor the id of a transaction', { code: 'invalid_value' })
  }
  const found = receiptsIn(paymentsIn(log).filter(({ transactionId }) => transactionId === text))
  if (found.length > 0) return found
  throw new CommandError('receipt_not_found', `the log has no signed receipt of the transaction ${text}`, {
    hint: 'latchkey receipts list shows the receipts of a log',
  })
}

async function readStdin(): Promise<string> {
  let text = ''
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += piece
    if (text.length > 2 * SignedReceipt.maxLength)
      throw new UsageError('the receipt is too long', { code: 'invalid_value' })
  }
  return text
}

function print(checked: CheckedReceipt): void {
  const { verified, problem, payment } = checked
  if (problem !== undefined) {
    printMessage(`latchkey receipts verify: ${payment === undefined ? '' : `${payment.transactionId}: `}${problem}`)
    return
  }
  const { receipt } = verified!
  printLine(`Valid, signed by ${signerText(checked)}.`)
  printLine(`  resource     ${receipt.resourceUrl}`)
  printLine(`  paid by      ${receipt.payer}`)
  printLine(`  transaction  ${receipt.transaction ?? 'not named'}`)
  printLine(`  issued       ${timeText(receipt.issuedAt * 1_000)}`)
}

/** Runs the commands for receipts with logs of payments that try to take over the terminal. */
import { Ed25519, Network, SignedReceipt } from '@latchkey/algorand'
import { hostile, marker } from './hostile.test.helper.js'
import type { Table } from './hostileDirectories.test.helper.js'

export type ReceiptParts = {
  /** Returns a new file with this content. */
  readonly file: (content: string) => string
  readonly receiver: () => string
}

export function receiptCommands({ file, receiver }: ReceiptParts): Table {
  return {
    'receipts list': async () => {
      const log = file(hostileReceipts(receiver()))
      return [
        { args: ['receipts', 'list', '--log', log] },
        { args: ['receipts', 'list', '--log', log, '--json'] },
        { args: ['receipts', 'list', '--log', file(`${hostile}\n`)] },
        { args: ['receipts', 'list', '--log', `/nonexistent/${hostile}`] },
      ]
    },
    'receipts verify': async () => {
      const log = file(hostileReceipts(receiver()))
      return [
        { args: ['receipts', 'verify', '--log', log] },
        { args: ['receipts', 'verify', '--log', log, '--json'] },
        { args: ['receipts', 'verify', hostile] },
        { args: ['receipts', 'verify', `${hostile}.${hostile}.`] },
      ]
    },
  }
}

/** A log with receipts that a seller signed over hostile text, and with hostile text in place of a receipt. */
function hostileReceipts(payTo: string): string {
  const resourceUrl = `x://${marker}\u202e\u2066\u2028\u200b\u{e0041}`
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(7))
  const receipt = { network: Network.testnet.caip2, resourceUrl, payer: payTo, issuedAt: 8_640_000_000_001 }
  const bytes = SignedReceipt.bytesToSign(publicKey, receipt)
  const signed = SignedReceipt.attach(bytes, Ed25519.sign(bytes, secretKey))
  const common = {
    network: receipt.network,
    url: resourceUrl,
    claimedResource: hostile,
    payTo,
    asset: '0',
    amount: '1',
  }
  const rounds = { firstValid: '1', lastValid: '2', signedMs: 1, state: 'settled' }
  const lines = [signed, `${hostile}.${hostile}.${hostile}`].map((signedReceipt, index) => ({
    ...common,
    ...rounds,
    transactionId: String(index).repeat(52),
    signedReceipt,
  }))
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** `latchkey pay URL`: shows the price, pays within limits, and prints the response. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Amount, Network } from '@latchkey/algorand'
import {
  Buyer,
  LostResponseError,
  type Offer,
  PaymentRefusedError,
  payingFetch,
  receiptOf,
} from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { command, type Values } from '../Command.js'
import { chainOptions, openChain } from '../chain.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printableJson } from '../format.js'
import { contentPrinter, printMessage } from '../messages.js'
import { paymentRefused } from '../paymentRefused.js'
import { confirm, hasTerminal } from '../prompt.js'
import { signerFrom, signerNotes, signerOptions } from '../signer.js'

const payOptions = {
  yes: { type: 'boolean', short: 'y', description: 'pay without confirmation' },
  max: { type: 'string', placeholder: 'PRICE', description: 'the most to pay for the request ($1)' },
  method: { type: 'string', short: 'X', placeholder: 'METHOD', description: 'request method (GET; POST with --data)' },
  header: {
    type: 'string',
    short: 'H',
    multiple: true,
    placeholder: 'LINE',
    description: 'request header, "Name: value"; repeat it for more',
  },
  data: { type: 'string', placeholder: 'TEXT', description: 'request body' },
  ...chainOptions,
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'file that records every payment (~/.latchkey/payments.jsonl)',
  },
  ...signerOptions,
  json: { type: 'boolean', description: 'print the receipt as one line of JSON, on stderr' },
} as const

export const payCommand = command({
  description: `Sends a request and, if the response is 402 Payment Required, shows the price, pays it and prints the response: the body on \
stdout, everything else on stderr.`,
  positionals: [{ name: 'URL' }],
  options: payOptions,
  notes: signerNotes,
  examples: [
    "latchkey pay https://example.com/weather --wallet spending --key ADDRESS --max '$0.05'",
    'latchkey pay http://127.0.0.1:4021/weather --yes > weather.json',
  ],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [url] }) => {
    const request = requestOf(url!, options)
    const signer = signerFrom(options, process.env)
    if (signer === undefined) throw new UsageError('no key to pay with', { hint: 'give --wallet and --key' })
    const chain = await openChain(options, process.env)
    const payments = new FilePayments(options.log ?? defaultLog())
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: options.max ?? '$1' })
    let isDeclined = false
    const pay = payingFetch(buyer, {
      onPaymentRequired: async (required) => {
        const { offers, reasons } = await buyer.offers(required)
        if (offers.length === 0) throw paymentRefused(reasons)
        isDeclined = !(await confirmPayment(offers[0]!, required.resource.description ?? '', options.yes ?? false))
        return !isDeclined
      },
    })
    const response = await pay(request).catch(explain)
    if (isDeclined) throw new CommandError('declined', 'nothing was paid')
    const receipt = receiptOf(response)
    printReceipt(options.json ?? false, response, receipt)
    const content = contentPrinter()
    await content.write(new Uint8Array(await response.arrayBuffer()))
    await content.end()
    return response.ok ? exitCodes.ok : exitCodes.failed
  },
})

type Options = Values<typeof payOptions>

function requestOf(url: string, { method, header = [], data }: Options): Request {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`${url} is not an http address`, { code: 'invalid_value' })
  }
  const headers = new Headers()
  for (const line of header) {
    const [, name, value] = /^([A-Za-z0-9-]+): *(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      throw new UsageError(`${JSON.stringify(line)} is not of the form "Name: value"`, { code: 'invalid_value' })
    }
    headers.append(name, value)
  }
  const body = data === undefined ? {} : { body: data }
  return new Request(url, { method: method ?? (data === undefined ? 'GET' : 'POST'), headers, ...body })
}

/** The description comes from the server. */
const maxDescriptionLength = 200

/** Asks on a terminal; without one, --yes has to be given. */
async function confirmPayment(
  { requirement, asset, amount, chain, microDollars }: Offer,
  description: string,
  isConfirmed: boolean,
): Promise<boolean> {
  const text = Amount.format(amount, asset.decimals)
  const price =
    microDollars === undefined ? `${text} ${asset.name}` : `$${text} (${asset.name}, asset ${asset.assetId})`
  const subject = description === '' ? 'The request' : description.slice(0, maxDescriptionLength)
  printMessage(`${subject} costs ${price}, to ${requirement.payTo} on ${chain.caip2}.`)
  if (isConfirmed) return true
  if (!hasTerminal()) {
    throw new UsageError('there is no terminal to ask for confirmation', {
      code: 'confirmation_required',
      hint: 'give --yes to pay',
    })
  }
  return confirm('Pay?')
}

function printReceipt(isJson: boolean, { status }: Response, receipt: ReturnType<typeof receiptOf>): void {
  if (isJson) printMessage(printableJson({ status, receipt: receipt ?? null }))
  else if (receipt?.success)
    printMessage(`Paid: transaction ${receipt.transaction} on ${canonicalId(receipt.network)}.`)
  else printMessage(`No payment was settled (response status: ${status}).`)
}

/** As the price was shown: the seller may write the id of the network in another way. */
function canonicalId(network = ''): string {
  return Network.normalize(network) ?? network
}

function explain(error: unknown): never {
  if (error instanceof PaymentRefusedError) throw paymentRefused(error.reasons, error)
  if (!(error instanceof LostResponseError)) throw error
  throw new CommandError('response_lost', error.message, {
    hint: 'look the transaction up before you pay again',
    cause: error,
  })
}

function defaultLog(): string {
  const directory = join(homedir(), '.latchkey')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return join(directory, 'payments.jsonl')
}

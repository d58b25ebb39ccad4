/** `latchkey pay URL`: shows the price first, pays within limits, and prints the answer. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Amount } from '@latchkey/algorand'
import { Buyer, LostResponseError, type Offer, payingFetch, receiptOf } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { command, UsageError, type Values } from '../Command.js'
import { chainOptions, openChain, signerFrom, signerNotes, signerOptions } from '../environment.js'
import { CommandError, exitCodes } from '../exitCodes.js'
import { printable } from '../printable.js'
import { confirm, hasTerminal } from '../prompt.js'

const payOptions = {
  yes: { type: 'boolean', short: 'y', about: 'pay without being asked' },
  max: { type: 'string', value: 'PRICE', about: 'never more than this for the request ($1)' },
  method: { type: 'string', short: 'X', value: 'METHOD', about: 'GET unless told; POST with --data' },
  header: {
    type: 'string',
    short: 'H',
    multiple: true,
    value: 'LINE',
    about: 'a header to send, "Name: value"; may be given several times',
  },
  data: { type: 'string', value: 'TEXT', about: 'a body to send' },
  ...chainOptions,
  log: {
    type: 'string',
    value: 'FILE',
    completes: 'file',
    about: 'where every payment is written down (~/.latchkey/payments.jsonl)',
  },
  ...signerOptions,
  json: { type: 'boolean', about: 'print the receipt as one line of JSON, on stderr' },
} as const

export const payCommand = command({
  text: `Asks for an address and, if it answers 402 Payment Required, shows the price, pays it and prints the answer: the body on stdout, \
everything else on stderr.`,
  takes: [{ name: 'URL' }],
  options: payOptions,
  notes: signerNotes,
  examples: [
    "latchkey pay https://example.com/weather --wallet spending --key ADDRESS --max '$0.05'",
    'latchkey pay http://127.0.0.1:4021/weather --yes > weather.json',
  ],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [url] }) => {
    if (!URL.canParse(url!) || !/^https?:$/.test(new URL(url!).protocol))
      throw new UsageError(`${url} is not an http address`)
    const signer = signerFrom(options, process.env)
    if (signer === undefined) throw new UsageError('say which key pays, with --wallet and --key')
    const request = requestOf(url!, options)
    const chain = await openChain(options, process.env)
    const payments = new FilePayments(options.log ?? defaultLog())
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: options.max ?? '$1' })
    let isDeclined = false
    const pay = payingFetch(buyer, {
      onPaymentRequired: async (required) => {
        const { offers, faults } = await buyer.offers(required)
        if (offers.length === 0) throw new Error(`nothing that it asks for can be paid: ${faults.join('; ')}`)
        isDeclined = !(await mayPay(offers[0]!, required.resource.description ?? '', options.yes ?? false))
        return !isDeclined
      },
    })
    const response = await pay(request).catch(explain)
    if (isDeclined) throw new CommandError('declined', 'nothing was paid')
    const receipt = receiptOf(response)
    tell(options.json ?? false, response, receipt)
    const body = Buffer.from(await response.arrayBuffer())
    process.stdout.write(body)
    // So that the prompt of the shell has a line of its own.
    if (process.stdout.isTTY && body.length > 0 && body.at(-1) !== 0x0a) process.stdout.write('\n')
    return response.ok ? exitCodes.ok : exitCodes.failed
  },
})

type Options = Values<typeof payOptions>

function requestOf(url: string, { method, header = [], data }: Options): Request {
  const headers = new Headers()
  for (const line of header) {
    const [, name, value] = /^([A-Za-z0-9-]+): *(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new UsageError(`${JSON.stringify(line)} is not like "Name: value"`)
    headers.append(name, value)
  }
  const body = data === undefined ? {} : { body: data }
  return new Request(url, { method: method ?? (data === undefined ? 'GET' : 'POST'), headers, ...body })
}

/** Of what a stranger has to say for itself. */
const maxText = 200

/** On a terminal the person decides; elsewhere it has to be said before. */
async function mayPay(
  { requirement, asset, amount, chain, microDollars }: Offer,
  what: string,
  isSaid: boolean,
): Promise<boolean> {
  const text = Amount.format(amount, asset.decimals)
  const price =
    microDollars === undefined ? `${text} ${asset.name}` : `$${text} (${asset.name}, asset ${asset.assetId})`
  process.stderr.write(
    `${what === '' ? 'It' : printable(what.slice(0, maxText))} costs ${printable(price)}, to ${requirement.payTo} on ${chain.caip2}.\n`,
  )
  if (isSaid) return true
  if (!hasTerminal()) throw new UsageError('nobody can be asked here; give --yes to pay')
  return confirm('Pay?')
}

function tell(isJson: boolean, { status }: Response, receipt: ReturnType<typeof receiptOf>): void {
  if (isJson) process.stderr.write(`${JSON.stringify({ status, receipt: receipt ?? null })}\n`)
  else if (receipt?.success) process.stderr.write(`Paid: transaction ${receipt.transaction} on ${receipt.network}.\n`)
  else process.stderr.write(`No payment settled (response status: ${status}).\n`)
}

function explain(error: unknown): never {
  if (!(error instanceof LostResponseError)) throw error
  throw new Error(`${error.message}; do not pay again before you have looked it up`)
}

function defaultLog(): string {
  const directory = join(homedir(), '.latchkey')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return join(directory, 'payments.jsonl')
}

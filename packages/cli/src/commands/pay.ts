/** `latchkey pay URL`: shows the price first, pays within limits, and prints the answer. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import {
  amountText,
  Buyer,
  FilePayments,
  LostAnswerError,
  type Offer,
  payingFetch,
  receiptOf,
} from '@latchkey/x402/client'
import { type Command, UsageError } from '../Command.js'
import { chainOptions, openChain, signerFrom } from '../environment.js'
import { exitCodes } from '../exitCodes.js'

const help = `Asks for an address and, if it answers 402 Payment Required, shows the price, pays it and prints the answer: the body on
stdout, everything else on stderr.

Usage:
  latchkey pay URL [options]

Options:
  -y, --yes              pay without being asked
      --max PRICE        never more than this for the request ($1)
  -X, --method METHOD    GET unless told; POST with --data
  -H, --header LINE      a header to send, "Name: value"; may be given several times
  -d, --data TEXT        a body to send
      --network NETWORK  testnet (the default), mainnet, betanet, local, or a CAIP-2 id
      --node URL         an algod of that network; may be given several times, for failover
      --dollar ID        the asset that is a dollar on a local network
      --log FILE         where every payment is written down (~/.latchkey/payments.jsonl)
      --json             print the receipt as one line of JSON, on stderr

The key that pays: AVM_MNEMONIC (25 words) or AVM_PRIVATE_KEY (64 bytes in base64) in the environment; or one that stays in
the key daemon: KMD_DATA_DIR, KMD_WALLET, KMD_PASSWORD_FILE and AVM_ADDRESS.

Example:
  KMD_DATA_DIR=~/.latchkey/kmd-v0.5 KMD_WALLET=spending AVM_ADDRESS=... latchkey pay https://example.com/weather --max '$0.05'

Exit codes: 0 answered with success, 1 wrong usage, 3 failed, or nothing was paid, or the answer is an error.
`

export const payCommand: Command = {
  help,
  run: async (args) => {
    const { url, options } = readArguments(args)
    const signer = signerFrom(process.env)
    if (signer === undefined) throw new UsageError('AVM_MNEMONIC, AVM_PRIVATE_KEY or KMD_DATA_DIR must be set')
    const request = requestOf(url, options)
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
    if (isDeclined) {
      process.stderr.write('Nothing was paid.\n')
      return exitCodes.failed
    }
    const receipt = receiptOf(response)
    tell(options.json ?? false, response, receipt)
    process.stdout.write(Buffer.from(await response.arrayBuffer()))
    return response.ok ? exitCodes.ok : exitCodes.failed
  },
}

type Options = ReturnType<typeof readArguments>['options']

function readArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        yes: { type: 'boolean', short: 'y' },
        max: { type: 'string' },
        method: { type: 'string', short: 'X' },
        header: { type: 'string', short: 'H', multiple: true },
        data: { type: 'string', short: 'd' },
        log: { type: 'string' },
        json: { type: 'boolean' },
        ...chainOptions,
      },
    })
    const [url, ...others] = positionals
    if (url === undefined || others.length > 0) throw new UsageError('give one address')
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new UsageError(`${url} is not an http address`)
    return { url, options: values }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message)
  }
}

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

/** On a terminal the person decides; elsewhere it has to be said before. */
async function mayPay(
  { requirement, asset, amount, chain, microDollars }: Offer,
  what: string,
  isSaid: boolean,
): Promise<boolean> {
  const text = amountText(amount, asset.decimals)
  const price =
    microDollars === undefined ? `${text} ${asset.name}` : `$${text} (${asset.name}, asset ${asset.assetId})`
  process.stderr.write(
    `${what === '' ? 'It' : printable(what)} costs ${price}, to ${requirement.payTo} on ${chain.caip2}.\n`,
  )
  if (isSaid) return true
  if (!process.stdin.isTTY) throw new UsageError('nobody can be asked here; give --yes to pay')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question('Pay? [y/N] ')).trim())
  } finally {
    terminal.close()
  }
}

/** A stranger's words must not move the cursor. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\u00a0-\ud7ff]/g, '?').slice(0, 200)
}

function tell(isJson: boolean, { status }: Response, receipt: ReturnType<typeof receiptOf>): void {
  if (isJson) process.stderr.write(`${JSON.stringify({ status, receipt: receipt ?? null })}\n`)
  else if (receipt?.success) process.stderr.write(`Paid: transaction ${receipt.transaction} on ${receipt.network}.\n`)
  else process.stderr.write(`No payment settled (response status: ${status}).\n`)
}

function explain(error: unknown): never {
  if (!(error instanceof LostAnswerError)) throw error
  throw new Error(`${error.message}; do not pay again before you have looked it up`)
}

function defaultLog(): string {
  const directory = join(homedir(), '.latchkey')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return join(directory, 'payments.jsonl')
}

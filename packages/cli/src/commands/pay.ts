/** `latchkey pay URL`: shows the price, pays exactly that within limits, and prints the response as it arrives. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  Buyer,
  LostResponseError,
  type PassCache,
  PaymentRefusedError,
  passHeader,
  payingFetch,
  paymentSignature,
  type SignedPayment,
  type Signer,
} from '@latchkey/x402/client'
import { FilePassCache, FilePayments } from '@latchkey/x402/file'
import { agentOptions, agentSignerFrom } from '../agentToken.js'
import { command, readNumber, type Values } from '../Command.js'
import { chainOptions, openChain } from '../chain.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { quoted } from '../format.js'
import { printMessage } from '../messages.js'
import { paymentRefused } from '../paymentRefused.js'
import { explainServerError } from '../serverErrors.js'
import { signerFrom, signerNotes, signerOptions } from '../signer.js'
import { openBodySink, receiveBody } from './pay/body.js'
import { confirmPayment, describeRepeat } from './pay/consent.js'
import { IdleLimit } from './pay/IdleLimit.js'
import { again, report, type SentPayment } from './pay/report.js'

const payOptions = {
  yes: { type: 'boolean', short: 'y', description: 'pay without confirmation' },
  max: { type: 'string', placeholder: 'PRICE', description: "maximum price in dollars, such as '$0.05' ($1)" },
  method: { type: 'string', short: 'X', placeholder: 'METHOD', description: 'request method (GET; POST with --data)' },
  header: {
    type: 'string',
    short: 'H',
    multiple: true,
    placeholder: 'LINE',
    description: 'request header, "Name: value"; repeatable',
  },
  data: { type: 'string', placeholder: 'TEXT', description: 'request body' },
  'new-payment': {
    type: 'boolean',
    description: 'make a new payment, even if an earlier one for the same request is open or has a pass',
  },
  output: {
    type: 'string',
    short: 'o',
    placeholder: 'FILE',
    completes: 'file',
    description: 'write the body to this new file instead of stdout',
  },
  timeout: {
    type: 'string',
    placeholder: 'SECONDS',
    description: 'maximum time without data from the server (120)',
  },
  'max-bytes': { type: 'string', placeholder: 'BYTES', description: 'maximum size of the body (no limit)' },
  ...chainOptions,
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'log of payments (~/.latchkey/payments.jsonl)',
  },
  ...signerOptions,
  ...agentOptions,
  json: { type: 'boolean', description: "print the payment's result as one line of JSON on stderr" },
} as const

const defaultTimeoutSeconds = 120
const maxTimeoutSeconds = 24 * 60 * 60

export const payCommand = command({
  description: `Send a request. If the response is 402 Payment Required, show the price, pay exactly that and print the response: the \
body on stdout, everything else on stderr. The ledger shows whether the payment is settled. If a payment got no response, the same \
command sends that payment again instead of a new one. If a seller includes a pass in its response, further requests are free until it \
expires.`,
  positionals: [{ name: 'URL' }],
  hasContentOutput: true,
  options: payOptions,
  notes: `${signerNotes} With an agent's token (--agent-token-file, or LATCHKEY_AGENT_TOKEN) the key daemon signs within the limits of the \
agent; if a payment needs an approval, the command waits for the owner.

With --json, one line on stderr is a JSON object: the last line, or the line before an error message. Its "state" is settled, \
not_settled, not_known_yet, or null if nothing was sent; its "receipt" and "pass" come from the seller, unverified.`,
  examples: [
    "latchkey pay https://example.com/weather --wallet spending --key ADDRESS --max '$0.05'",
    'latchkey pay http://127.0.0.1:4021/weather --yes > weather.json',
  ],
  exits: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [url] }) => {
    const request = requestOf(url!, options)
    const timeoutSeconds = readNumber('--timeout', options.timeout, 1, maxTimeoutSeconds) ?? defaultTimeoutSeconds
    const maxBytes = readNumber('--max-bytes', options['max-bytes'], 1, Number.MAX_SAFE_INTEGER)
    const signer = await signerOf(options)
    const chain = await openChain(options, process.env)
    const log = options.log ?? defaultLog()
    const payments = new FilePayments(log)
    const passes = passesOf(`${log}.passes`, options['new-payment'] === true)
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: options.max ?? '$1' })
    const sink = openBodySink(options.output)
    const limit = new IdleLimit(timeoutSeconds)
    try {
      const isComplete = await buy(request, { options, buyer, passes, chain, sink, limit, maxBytes })
      if (!isComplete) await sink.discard()
      return isComplete ? exitCodes.ok : exitCodes.failed
    } catch (error) {
      await sink.discard()
      throw error
    } finally {
      limit.stop()
    }
  },
})

type Options = Values<typeof payOptions>

/** An agent's token pays within the limits of its owner. It is not used if a wallet is named. */
async function signerOf(options: Options): Promise<Signer.Signer> {
  if (options.wallet !== undefined && options['agent-token-file'] !== undefined) {
    throw new UsageError('give only one of --wallet and --agent-token-file')
  }
  const agent = options.wallet === undefined ? await agentSignerFrom(options, process.env) : undefined
  const signer = agent ?? signerFrom(options, process.env)
  if (signer !== undefined) return signer
  throw new UsageError('no key to pay with', { hint: 'give --wallet and --key, or --agent-token-file' })
}

type Purchase = {
  readonly options: Options
  readonly buyer: Buyer
  readonly passes: PassCache
  readonly chain: SentPayment['chain']
  readonly sink: ReturnType<typeof openBodySink>
  readonly limit: IdleLimit
  readonly maxBytes: number | undefined
}

/** Returns whether the response is successful and complete. */
async function buy(request: Request, purchase: Purchase): Promise<boolean> {
  const { options, buyer, passes, chain, sink, limit, maxBytes } = purchase
  const isJson = options.json ?? false
  let isDeclined = false
  let paid: SignedPayment | undefined
  const pay = payingFetch(buyer, {
    resume: options['new-payment'] !== true,
    passes,
    answer: 'body',
    fetch: (input, init) => {
      limit.restart()
      return fetch(input, init)
    },
    onPaymentRequired: async ({ resource }, _url, [offer]) => {
      limit.stop()
      isDeclined = !(await confirmPayment(offer, resource.description ?? '', options.yes ?? false))
      limit.restart()
      // Pays exactly the offer that was shown, or nothing.
      return isDeclined ? false : offer
    },
    onRepeat: (payment) => printMessage(describeRepeat(payment)),
    onPayment: (payment) => {
      paid = payment
    },
  })
  const sent = (): SentPayment => ({ buyer, chain, payment: paid?.payment })
  try {
    const response = await pay(request, { signal: limit.signal })
    if (isDeclined) throw new CommandError('declined', 'nothing was paid')
    limit.stop()
    const before = await report(sent(), response, { isJson, isFinal: false })
    await receiveBody(response, { sink, limit, maxBytes })
    await report(sent(), response, { isJson, isFinal: true, before })
    return response.ok
  } catch (error) {
    limit.stop()
    const state = await report(sent(), undefined, { isJson, isFinal: true })
    if (paid === undefined) throw explainServerError(explain(error, limit), request.url)
    const isLost = error instanceof LostResponseError
    throw explain(isLost ? new LostResponseError(paid, state!, error.cause, error.status) : error, limit)
  }
}

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
  const own = [paymentSignature, passHeader].find((name) => headers.has(name))
  if (own !== undefined) {
    const hint = 'remove the header: the command sends open payments from the log again, and sends passes'
    throw new UsageError(`--header cannot set ${own}, which the command sets itself`, {
      code: 'invalid_value',
      hint,
    })
  }
  const body = data === undefined ? {} : { body: data }
  return new Request(url, { method: method ?? (data === undefined ? 'GET' : 'POST'), headers, ...body })
}

/** A new payment is made regardless of existing passes, and its own pass is kept. */
function passesOf(directory: string, isNewPayment: boolean): PassCache {
  const cache = new FilePassCache(directory)
  if (!isNewPayment) return cache
  return { all: () => [], put: (pass) => cache.put(pass), remove: () => {} }
}

function explain(error: unknown, { interruption }: IdleLimit): unknown {
  if (error instanceof PaymentRefusedError) return paymentRefused(error.reasons, error)
  if (!(error instanceof LostResponseError)) return interruption ?? error
  // The caller's reason for giving up, if any.
  const why = interruption === undefined || interruption.message === '' ? '' : ` (${interruption.message})`
  const code = interruption?.code === 'interrupted' ? 'interrupted' : 'response_lost'
  return new CommandError(code, `${error.message}${why}`, { hint: again, cause: error })
}

function defaultLog(): string {
  const directory = join(homedir(), '.latchkey')
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    const message = `${quoted(directory)} cannot be written: ${(error as Error).message}`
    throw new CommandError('file_unwritable', message, {
      hint: 'give a file with --log, or correct HOME',
      cause: error,
    })
  }
  return join(directory, 'payments.jsonl')
}

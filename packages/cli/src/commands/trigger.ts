/** `latchkey trigger EVENT`: makes a payment event happen on a dev stack, for a program that handles it. */
import { Buyer, fromKmd, payingFetch, paymentSignature } from '@latchkey/x402/client'
import { command, jsonOption } from '../Command.js'
import { openChain } from '../chain.js'
import { daemonOptions, dataDirectory } from '../daemon.js'
import { eventTypes } from '../dev/EventFeed.js'
import { CommandError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printMessage } from '../messages.js'
import { explainServerError } from '../serverErrors.js'
import { buyerWallet, isStackUsed } from '../stack/stackValues.js'

const timeoutMs = 60_000

export const triggerCommand = command({
  description: `Cause a payment event on a running dev stack: required sends a request without a payment, verified and settled pay for one with the stack's buyer, \
refused sends an invalid payment. latchkey listen shows the events.`,
  positionals: [{ name: 'EVENT', choices: eventTypes, description: eventTypes.join(', ') }],
  options: { 'data-dir': daemonOptions['data-dir'], ...jsonOption },
  examples: ['latchkey trigger settled', 'latchkey trigger refused'],
  exits: ['unreachable'],
  run: async ({ options, args: [event] }) => {
    const { RESOURCE_SERVER_URL: seller, KMD_KEY: address } = process.env
    if (!isStackUsed() || seller === undefined || address === undefined) {
      throw new CommandError('stack_not_running', 'no dev stack is running', { hint: 'start one with latchkey dev' })
    }
    const url = `${seller}/weather`
    const response = await request(event!, { url, address, dataDir: dataDirectory(options['data-dir']) })
    await response.body?.cancel()
    if (options.json) printJson({ event, url, status: response.status })
    else printMessage(`${url} responded with status ${response.status}: ${event}.`)
    const isExpected = event === 'verified' || event === 'settled' ? response.ok : response.status === 402
    return isExpected ? exitCodes.ok : exitCodes.failed
  },
})

type Target = { readonly url: string; readonly address: string; readonly dataDir: string }

async function request(event: string, { url, address, dataDir }: Target): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    if (event === 'required') return await fetch(url, { signal })
    if (event === 'refused') return await fetch(url, { signal, headers: { [paymentSignature]: notAPayment } })
    const chain = await openChain({}, process.env)
    const signer = fromKmd({ kmd: { dataDir }, wallet: buyerWallet, password: '', address })
    return await payingFetch(new Buyer({ signer, chains: chain }))(url, { signal })
  } catch (error) {
    throw explainServerError(error, url)
  }
}

const notAPayment = Buffer.from('not a payment').toString('base64')

/** Runs a replica of a facilitator that logs every response to a settlement request. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { Server } from '@latchkey/http'
import { Signer } from '@latchkey/x402/client'
import { createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { UptoPayment } from '@latchkey/x402-wire'
import { HistoryLog } from './history.test.helper.js'
import { plantInSettlements } from './plants.test.helper.js'
import { openChain, port, ready, setting, settings, untilItWorks } from './settings.test.helper.js'
import { openSettlements } from './stores.test.helper.js'

const history = new HistoryLog(settings.directory(), settings.name())
const requestsFile = join(settings.directory(), `${settings.name()}.requests.jsonl`)
const onError = (error: unknown): void => console.error(error)

const chain = await openChain()
const store = await untilItWorks(() => openSettlements(setting('FAULTS_STORE')))
const facilitator = new Facilitator({
  chains: [chain],
  feePayer: Signer.fromSeed(Buffer.from(setting('FAULTS_SPONSOR'), 'hex')),
  store: plantInSettlements(store, settings.plant()),
  policy: {
    feeMicroAlgosPerDay: BigInt(setting('FAULTS_FEES_PER_PAY_TO')),
    totalFeeMicroAlgosPerDay: BigInt(setting('FAULTS_FEES_IN_ALL')),
  },
  settleTimeoutMs: Number(process.env['FAULTS_SETTLE_MS'] ?? 4_000),
  pollMs: 100,
  onError,
})
await untilItWorks(() => facilitator.resume())

const handler = createFacilitatorHandler({ facilitator, onError })

type Settled = { transaction: string; success: boolean; errorReason?: string; amount?: string }

/** Returns the id of an authorization, which is not that of its transaction; undefined for another payment. */
function authorizationIn(body: string): string | undefined {
  const { paymentPayload } = JSON.parse(body) as { paymentPayload: { payload: object } }
  if (!('program' in paymentPayload.payload)) return undefined
  return UptoPayment.idOf(UptoPayment.read(paymentPayload.payload).terms.lease)
}

const server = new Server({
  fetch: async (request, connection) => {
    if (!request.url.endsWith('/settle')) return handler(request, connection)
    const body = await request.text()
    // Without the connection, because its body was already read.
    const response = await handler(new Request(request, { body }))
    const { transaction, success, errorReason, amount } = (await response.clone().json()) as Settled
    const authorization = authorizationIn(body)
    const transactionId = authorization ?? transaction
    if (transactionId !== undefined && transactionId !== '') {
      appendFileSync(requestsFile, `${JSON.stringify({ transactionId, body })}\n`)
      const charge = authorization === undefined || !success ? undefined : amount
      history.add({ type: 'settle', transactionId, success, reason: errorReason, charge })
    }
    return response
  },
  onError,
})
await server.listen(settings.host(), port)
ready()

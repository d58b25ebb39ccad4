/** A fake seller and its responses. */
import assert from 'node:assert/strict'
import { PaymentGroup, PaymentHeaders, type SettleResponse } from '@latchkey/x402-wire'
import * as Signer from '../../signer/Signer.js'
import { Buyer } from './Buyer.js'
import type { Market } from './market.test.helper.js'

type Respond = (request: Request, transactionId: string | undefined) => Response | Promise<Response>

/** A fake seller that records the ids of the payments it gets. */
export function shop(respond: Respond): { fetch: typeof fetch; shown: (string | undefined)[]; bodies: string[] } {
  const shown: (string | undefined)[] = []
  const bodies: string[] = []
  return {
    shown,
    bodies,
    fetch: async (input, init) => {
      const request = new Request(input, init)
      const header = request.headers.get(PaymentHeaders.paymentSignature)
      const payment = header === null ? undefined : PaymentGroup.read(PaymentHeaders.decodePayment(header).payload)
      shown.push(payment?.transactionId)
      bodies.push(await request.clone().text())
      request.signal.throwIfAborted()
      return respond(request, payment?.transactionId)
    },
  }
}

export function paymentRequired({ required }: Market): Response {
  return new Response('{}', {
    status: 402,
    headers: { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(required) },
  })
}

export function receipt(members: Partial<SettleResponse>, status = 200, body = 'sunny'): Response {
  const value = { success: true, transaction: '', network: 'algorand:x', ...members } as SettleResponse
  return new Response(body, { status, headers: { [PaymentHeaders.paymentResponse]: PaymentHeaders.encode(value) } })
}

export const buyerOf = ({ signer, chain }: Market): Buyer => new Buyer({ signer, chains: chain })

/** Signs the fee transaction and submits the group, as a facilitator would. */
export async function settle({ chain, sponsor }: Market, request: Request): Promise<void> {
  const { members } = PaymentGroup.read(
    PaymentHeaders.decodePayment(request.headers.get(PaymentHeaders.paymentSignature)!).payload,
  )
  const signed = members.map(({ bytes, isSigned, txn }) => (isSigned ? bytes : Signer.signTransaction(sponsor, txn)))
  assert.deepEqual(await chain.algod.submit(await Promise.all(signed)), { type: 'accepted' })
}

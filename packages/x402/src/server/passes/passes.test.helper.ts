/** A gate with passes, and buyers who pay and present their passes. */
import assert from 'node:assert/strict'
import { Bytes } from '@latchkey/algorand'
import { PaymentHeaders, PaymentPass, PaymentSecret } from '@latchkey/x402-wire'
import type { Decision } from '../exchange/Admission.js'
import type { GateOptions } from '../gate/GateOptions.js'
import {
  admitted,
  answer,
  ask,
  type Ledger,
  paymentFor,
  price,
  requiredIn,
  responseOf,
  stubGate,
} from '../stubs.test.helper.js'

export const secret = 'a secret of at least 32 bytes, as from a generator'
export type World = Awaited<ReturnType<typeof stubGate>>

export const minutes = { 'GET /a': { accepts: price, passes: { minutes: 30 } } } as const

export function passGate(options: Partial<GateOptions> = {}, ledger?: Ledger): Promise<World> {
  return stubGate({ routes: minutes, passes: { secret }, onWarning: () => {}, ...options }, ledger)
}

export type Bought = {
  headers: Headers
  /** The pass with the buyer's secret, as sent in the header. */
  shown: string
  pass: string | null
  transactionId: string
  /** Sends the payment again. */
  repeat: () => Promise<Decision>
}

export type BuyOptions = { init?: RequestInit; hasSecret?: boolean; origin?: string }

/** Pays like our buyer. */
export async function buy(
  { gate, chain }: World,
  path = '/a',
  { init = {}, hasSecret = true, origin = 'http://shop.example' }: BuyOptions = {},
): Promise<Bought> {
  const at = (payment?: string): Request => {
    const { url, method, headers } = ask(path, payment, init)
    return new Request(url.replace('http://shop.example', origin), { method, headers })
  }
  const required = requiredIn(responseOf(await gate.decide(at())))
  const { payload, transactionId } = paymentFor(required, chain)
  const { secret: own, hash } = PaymentSecret.create()
  const plain = { ...payload, extensions: required.extensions! }
  const header = PaymentHeaders.encode(hasSecret ? PaymentSecret.add(plain, hash) : payload)
  const admission = admitted(await gate.decide(at(header)))
  const settled = await admission.settle(answer)
  assert.ok('headers' in settled)
  const headers = new Headers(settled.headers as [string, string][])
  const pass = headers.get(PaymentPass.passHeader)
  const repeat = () => gate.decide(at(PaymentHeaders.encode(PaymentSecret.reveal(plain, own))))
  return { headers, pass, shown: `${pass}.${Bytes.toBase64Url(own)}`, transactionId, repeat }
}

export function show(path: string, shown: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers)
  headers.set(PaymentPass.passHeader, shown)
  return ask(path, undefined, { ...init, headers })
}

/** The error of the 402. */
export function refusal(decision: Decision): string | undefined {
  const response = responseOf(decision)
  assert.equal(response.status, 402)
  return requiredIn(response).error
}

/** The value of the first Set-Cookie, and its attributes. */
export function cookieIn(headers: Headers): { pair: string; attributes: string } {
  const [, pair, attributes] = /^([^;]+); (.*)$/.exec(headers.getSetCookie()[0] ?? '') ?? []
  return { pair: pair!, attributes: attributes! }
}

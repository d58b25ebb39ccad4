/** The payment for a streamed response. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryClaims } from '../store/Claims.js'
import { admitted, answer, ask, paymentFor, price, requiredIn, responseOf, stubGate } from '../stubs.test.helper.js'
import type { Admission } from './Admission.js'

async function open(method: string, claims = new MemoryClaims()) {
  const accepts = { ...price, paymentFlow: 'upfront' } as const
  const { gate, chain } = await stubGate({ routes: { '/a': { accepts } }, claims })
  const unpaid = responseOf(await gate.decide(ask('/a', undefined, { method })))
  const { header } = paymentFor(requiredIn(unpaid), chain)
  const send = async (): Promise<Admission | string> => {
    const decision = await gate.decide(ask('/a', header, { method }))
    if (decision.type !== 'response') return admitted(decision)
    const { status, headers } = decision.response
    return `${status} ${headers.has('PAYMENT-REQUIRED') ? requiredIn(decision.response).error : ''}`.trim()
  }
  const first = (await send()) as Admission
  assert.deepEqual([first.isStreamed, first.settled?.success], [true, true])
  return { first, send }
}

for (const method of ['GET', 'POST']) {
  test(`${method}: the payment is busy while its response streams, and used up after it was sent`, async () => {
    const { first, send } = await open(method)
    assert.equal(await send(), '503')
    await first.settle(answer)
    assert.equal(await send(), '402 payment_already_used')
  })

  test(`${method}: the payment may be sent again after its handler failed`, async () => {
    const { first, send } = await open(method)
    await first.cancel()
    const second = (await send()) as Admission
    assert.equal(second.isStreamed, true)
    await second.settle(answer)
    assert.equal(await send(), '402 payment_already_used')
  })

  test(`${method}: an undelivered answer is sent again, or produced again if it could not be held`, async () => {
    const held = await open(method)
    await held.first.settle(answer)
    await held.first.undelivered()
    assert.equal(await held.send(), '200')
    const tooLong = await open(method)
    await tooLong.first.settle(undefined)
    await tooLong.first.undelivered()
    assert.equal(typeof (await tooLong.send()), 'object')
    const noRoom = await open(method, new MemoryClaims({ maxHeldBytes: 1 }))
    await noRoom.first.settle(answer)
    await noRoom.first.undelivered()
    assert.equal(typeof (await noRoom.send()), 'object')
  })

  test(`${method}: a handler whose client has left is abandoned in time`, async (t) => {
    const { first, send } = await openAt(t, method)
    const over = first.disconnected()
    t.mock.timers.tick(360_001)
    await over
    assert.equal(typeof (await send()), 'object')
  })

  test(`${method}: a stream that outlasts its claim opens no second one`, async (t) => {
    const { first, send } = await openAt(t, method)
    t.mock.timers.tick(3_600_000)
    assert.equal(await send(), '402 payment_already_used')
    await first.cancel()
    assert.equal(typeof (await send()), 'object')
  })
}

/** Opens with a clock that the test sets. */
async function openAt(t: TestContext, method: string) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  return open(method)
}

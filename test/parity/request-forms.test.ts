/** Both wires accept requests in both forms: the form of a request does not change its response. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHostedDaemon } from '../support/daemon.test.helper.js'
import { operation } from '../support/operations.test.helper.js'
import { type ByteForm, type Spelling, takeTour } from '../support/tour.test.helper.js'

for (const wire of ['reference', 'documented'] as const) {
  test(`${wire} wire`, async (t) => {
    const daemon = await startHostedDaemon({ args: ['--wire', wire] })
    t.after(() => daemon.stop())
    const answersTo = async (form: ByteForm, spelling: Spelling) => {
      const { steps } = await takeTour(daemon, form, spelling)
      return steps.filter(({ id }) => isRepeatable(id)).map(({ id, answer }) => [id, answer.text])
    }
    const expected = await answersTo('base64', 'reference')
    assert.ok(expected.length >= 18, `${expected.length} answers are compared`)
    assert.deepEqual(await answersTo('integers', 'documented'), expected)
    assert.deepEqual(await answersTo('integers', 'reference'), expected)
    assert.deepEqual(await answersTo('base64', 'documented'), expected)
  })
}

/** Wallet ids and handles are random; everything else follows from the master derivation key. */
function isRepeatable(id: string): boolean {
  return !Object.keys(operation(id).response).some((name) => name.startsWith('wallet'))
}

/** Tests that a service on `node:http` reads every request as the gateway in front of it does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSameReadings, recordingService, smuggle } from './smuggling.test.helper.js'
import { attempt, randomFrom } from './smugglingAttempts.test.helper.js'

test('a service on node:http reads what the gateway forwards, and nothing else', { timeout: 1_800_000 }, async (t) => {
  const service = await recordingService(t)
  const forwarded = await smuggle(t, service.url)
  await assertSameReadings(forwarded, service)
  assert.ok(forwarded.some(({ body, isComplete }) => isComplete && body.includes('GET /paid/')))
})

test('the attempts are the same for the same seed', () => {
  assert.equal(attempt(randomFrom(7), 'x'), attempt(randomFrom(7), 'x'))
  assert.notEqual(attempt(randomFrom(7), 'x'), attempt(randomFrom(8), 'x'))
})

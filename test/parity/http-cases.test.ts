/**
 * Replays every request recorded from the Go daemon, and those that `goal` sent to it, in the recorded order against
 * the `kmd` command on a fresh data directory. The response must match the recording: status, recorded headers, and the
 * body byte for byte. deviations.json lists intended differences: the case, the expected statuses, and the reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHostedDaemon, type TestDaemon, type TestResponse } from '../support/daemon.test.helper.js'
import { readGolden } from '../support/golden.test.helper.js'

type Case = {
  name: string
  method: string
  path: string
  /** `valid` stands for the daemon's own token, null for none; anything else is sent unchanged. */
  token: string | null
  headers?: { [name: string]: string }
  body?: string | null
  body_base64?: string
  /** Names for parts of the response, which later cases use as `{{NAME}}`. */
  capture?: { [name: string]: string }
  expect: { status: number; headers: { [name: string]: string }; body: string }
}

type Recording = { config: { [name: string]: unknown }; api_token: string; cases: Case[] }
type Deviations = { [name: string]: { status: number[]; why: string } }

const recordings = { 'http-cases.json': 241, 'goal-cases.json': 30 }

for (const [file, count] of Object.entries(recordings)) {
  test(`recorded HTTP cases: ${file}`, async (t) => {
    const { config, api_token, cases } = readGolden<Recording>(file)
    const deviations = readGolden<Deviations>('deviations.json')
    assert.equal(cases.length, count, 'the recording is whole')
    assert.deepEqual(config['address'], '127.0.0.1:0')
    const daemon = await startHostedDaemon({ config, token: api_token })
    t.after(() => daemon.stop())
    const values = new Map<string, string>()
    const used: string[] = []
    for (const recorded of cases) {
      await t.test(recorded.name, async () => {
        const response = await send(daemon, recorded, values)
        capture(recorded, response, values)
        const mismatch = compare(recorded, response, values)
        if (mismatch === undefined) return
        const deviation = deviations[recorded.name]
        if (!deviation?.status.includes(response.status)) throw mismatch
        assertEnvelope(response)
        used.push(
          `${recorded.name}: ${recorded.expect.status} there, ${response.status} here, because ${deviation.why}`,
        )
      })
    }
    t.diagnostic(`${cases.length - used.length} of ${cases.length} answers are the recorded ones to the byte`)
    for (const line of used) t.diagnostic(`differs on purpose: ${line}`)
  })
}

function send(daemon: TestDaemon, recorded: Case, values: Map<string, string>): Promise<TestResponse> {
  const { method, path, headers, token, body, body_base64 } = recorded
  const bytes =
    body_base64 !== undefined
      ? Buffer.from(body_base64, 'base64')
      : typeof body === 'string'
        ? Buffer.from(fill(body, values))
        : undefined
  return daemon.call(method, path, bytes, {
    token: token === 'valid' ? daemon.token : token,
    ...(headers === undefined ? {} : { headers }),
  })
}

/** Leaves a name without a captured value unchanged, so that whatever depends on it fails. */
function fill(text: string, values: Map<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (placeholder, name: string) => values.get(name) ?? placeholder)
}

/** For a handle (a name with the prefix H), the two halves are captured as well. */
function capture({ capture: wanted }: Case, { status, json }: TestResponse, values: Map<string, string>): void {
  if (wanted === undefined || status !== 200) return
  for (const [name, path] of Object.entries(wanted)) {
    let value = json
    for (const member of path.split('.')) value = value?.[member]
    assert.equal(typeof value, 'string', `the answer has no ${path} to capture`)
    values.set(name, value)
    if (!name.startsWith('H')) continue
    const [id, secret] = value.split('.')
    values.set(`${name}_ID`, id)
    values.set(`${name}_SECRET`, secret)
  }
}

function compare({ path, expect }: Case, response: TestResponse, values: Map<string, string>): Error | undefined {
  const headers = Object.fromEntries(
    Object.keys(expect.headers).map((name) => [name, response.headers[name.toLowerCase()]]),
  )
  // The text of the description is our own and was not recorded.
  const body = path === '/swagger.json' ? '' : response.text
  try {
    assert.deepEqual(
      { status: response.status, headers, body },
      { status: expect.status, headers: expect.headers, body: fill(expect.body, values) },
    )
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** A response that deviates must still have the envelope that every client reads. */
function assertEnvelope({ status, headers, json }: TestResponse): void {
  assert.equal(headers['content-type'], 'application/json')
  if (status < 400) return
  assert.deepEqual(Object.keys(json), ['error', 'message'])
  assert.equal(json.error, true)
  assert.notEqual(json.message, '')
}

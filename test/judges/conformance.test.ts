/** PyPI `x402-conformance`, unmodified: `live` for the facilitator, `resource` for the 402 of a seller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { obtainPython, openShop, runPython } from './shop.test.helper.js'

const { python = '', problem } = obtainPython('requirements-official.txt')
const skip = problem ?? false

type Check = { readonly check: string; readonly pass: boolean; readonly detail: unknown }
type Report = { readonly results: readonly { readonly target: string; readonly checks: readonly Check[] }[] }

async function judge(command: 'live' | 'resource', urls: readonly string[]): Promise<Report> {
  return JSON.parse(await runPython(python, ['-m', 'x402conf', command, ...urls])) as Report
}

const failedIn = ({ results }: Report): string[] =>
  results.flatMap(({ target, checks }) =>
    checks
      .filter(({ pass }) => !pass)
      .map(({ check, detail }) => `${check.slice(0, 2)} ${target} ${JSON.stringify(detail)}`),
  )

const passedIn = ({ results }: Report): string[][] =>
  results.map(({ checks }) => checks.map(({ check }) => check.slice(0, 2)).toSorted())

test('x402-conformance 1.6.0 is installed', { skip }, async () => {
  const program = 'import importlib.metadata as m; print(m.version("x402-conformance"))'
  assert.equal((await runPython(python, ['-c', program])).trim(), '1.6.0')
})

test('facilitator and seller pass every check with the canonical id of the network', { skip }, async (t) => {
  const { facilitatorUrl, url } = await openShop(t, { networkIds: 'canonical' })
  const live = await judge('live', [facilitatorUrl])
  assert.deepEqual(failedIn(live), [])
  assert.deepEqual(passedIn(live), [['S1', 'S2', 'S3', 'S4']])
  const resource = await judge('resource', [`${url}/weather`, `${url}/weather/Rome?units=celsius`])
  assert.deepEqual(failedIn(resource), [])
  const all = ['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7']
  assert.deepEqual(passedIn(resource), [all, all])
})

test('with both ids, only the checks of the id fail', { skip }, async (t) => {
  const { facilitatorUrl, url } = await openShop(t)
  const idsOf = (report: Report) => failedIn(report).map((text) => text.slice(0, 2))
  assert.deepEqual(idsOf(await judge('live', [facilitatorUrl])), ['S2'])
  assert.deepEqual(idsOf(await judge('resource', [`${url}/weather`])), ['P4'])
})

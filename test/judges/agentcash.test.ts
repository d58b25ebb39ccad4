/** npm `@agentcash/discovery`, unmodified: the checks that sellers pass before a crawler lists them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { loadScript } from '../docs/Reference.test.helper.js'
import { offerOf, openShop, openTools, requests, toolOffer } from './shop.test.helper.js'

type Issue = { readonly code: string; readonly severity: string; readonly message: string }
type Advisory = { readonly method: string; readonly [name: string]: unknown }
type Judge = {
  readonly validatePaymentRequiredDetailed: (payload: unknown) => { valid: boolean; issues: Issue[]; summary: object }
  readonly discoverOriginSchema: (
    options: object,
  ) => Promise<{ found: boolean; endpoints: { [name: string]: unknown }[] }>
  readonly checkEndpointSchema: (options: object) => Promise<{ found: boolean; advisories: Advisory[] }>
  readonly getWarningsForL3: (advisory: Advisory) => Issue[]
  readonly getOpenAPI: (origin: string) => Promise<{ value: unknown }>
  readonly getWarningsForOpenAPI: (document: unknown) => Issue[]
  readonly checkL2ForOpenAPI: (document: unknown) => object
  readonly getWarningsForL2: (routes: object) => Issue[]
}
type Installed = { readonly directory?: string; readonly problem?: string }

const { installFor } = await loadScript<{ installFor: (folder: string, options: { name: string }) => Installed }>(
  'obtain/npm.mjs',
)
const { directory = '', problem } = installFor('judges', { name: '@agentcash/discovery' })
const skip = problem === undefined ? false : `NOT RUN: @agentcash/discovery cannot be installed: ${problem}`
const folder = join(directory, 'node_modules', '@agentcash', 'discovery')
const judge =
  skip === false ? ((await import(pathToFileURL(join(folder, 'dist', 'index.js')).href)) as Judge) : undefined!

const errorsIn = (issues: readonly Issue[]): Issue[] => issues.filter(({ severity }) => severity === 'error')

test('@agentcash/discovery 1.7.5 is installed', { skip }, () => {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  assert.equal(version, '1.7.5')
})

test('the 402 of each route is valid, without an error or a warning', { skip }, async (t) => {
  const { url } = await openShop(t)
  for (const [method, path] of requests) {
    const { valid, issues } = judge.validatePaymentRequiredDetailed(await offerOf(`${url}${path}`, method))
    assert.deepEqual([valid, issues], [true, []], `${method} ${path}`)
  }
})

test('the offer of a tool is valid, without an error or a warning', { skip }, async (t) => {
  const url = await openTools(t, await openShop(t))
  const { valid, issues } = judge.validatePaymentRequiredDetailed(await toolOffer(t, url))
  assert.deepEqual([valid, issues], [true, []])
})

test('the routes are found in /openapi.json, each with its price', { skip }, async (t) => {
  const { url } = await openShop(t)
  const { found, endpoints } = await judge.discoverOriginSchema({ target: url })
  assert.equal(found, true)
  assert.deepEqual(
    endpoints.map(({ method, path, authMode, price }) => `${method} ${path} ${authMode} ${price}`).toSorted(),
    [
      'DELETE /notes/{city} paid 0.010000 USD',
      'GET /weather paid 0.010000 USD',
      'GET /weather/{city} paid 0.010000 USD',
      'POST /notes paid 0.010000 USD',
      'PUT /notes/{city} paid 0.010000 USD',
    ],
  )
  const { value: document } = await judge.getOpenAPI(url)
  assert.deepEqual(judge.getWarningsForOpenAPI(document), [])
  assert.deepEqual(judge.getWarningsForL2(judge.checkL2ForOpenAPI(document)), [])
})

test('each endpoint passes with and without a request to it', { skip }, async (t) => {
  const { url } = await openShop(t)
  for (const [method, path] of requests) {
    for (const probe of [true, false]) {
      const { found, advisories } = await judge.checkEndpointSchema({ url: `${url}${path}`, probe })
      assert.equal(found, true, path)
      const advisory = advisories.find((one) => one.method === method)
      assert.ok(advisory !== undefined, `${method} ${path} ${probe}`)
      assert.equal(advisory['authMode'], 'paid')
      assert.ok(advisory['inputSchema'] !== undefined, `${method} ${path} ${probe}`)
      assert.deepEqual(errorsIn(judge.getWarningsForL3(advisory)), [], `${method} ${path} ${probe}`)
    }
  }
})

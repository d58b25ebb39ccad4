/**
 * Builds the example for Next.js with the real package, with handlers that fail and that take parameters, and pays for
 * them. Without a registry for the first install, the test is left out.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { loadScript } from '../docs/Reference.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { dollar, openMarket } from '../x402/support/market.test.helper.js'
import { rawRequest } from '../x402/support/rawRequest.test.helper.js'

type Installed = { directory: string; problem?: undefined } | { directory?: undefined; problem: string }

const { installNext } = await loadScript<{ installNext: () => Installed }>('obtain/next.mjs')
const { directory, problem } = installNext()
const skip = problem === undefined ? false : `NOT RUN: Next.js cannot be installed: ${problem}`
const timeout = 300_000

/** The start of each further route file. */
const opening = (route: string): string => `
import { Chain, Gate, sellerSettings } from '@latchkey/x402/server'
import { paymentGate, paymentOf } from '@latchkey/x402/web'
export const dynamic = 'force-dynamic'

async function open() {
  const { ALGOD_URL: nodes, USDC_ASSET_ID: dollar } = process.env
  const { payTo, facilitatorUrl: facilitators } = sellerSettings()
  const chain = await Chain.open({ network: 'local', nodes, dollarAssetId: BigInt(dollar) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo }
  return Gate.open({ routes: { '${route}': { accepts } }, chains: chain, facilitators })
}
`

const files: { [path: string]: string } = {
  'app/broken/route.js': `${opening('GET /broken')}
export const GET = paymentGate(open, async () => new Response('out of order', { status: 503 }))
`,
  'app/moved/route.js': `import { redirect } from 'next/navigation'
${opening('GET /moved')}
export const GET = paymentGate(open, async () => redirect('/elsewhere'))
`,
  'app/city/[name]/route.js': `${opening('GET /city/:name')}
export const GET = paymentGate(open, async (request, { params }) => {
  const { name } = await params
  return Response.json({ name, payer: paymentOf(request).payer, query: request.nextUrl.search })
})
`,
  'app/misspelled/route.js': `${opening('GET /mispelled')}
export const GET = paymentGate(open, async () => Response.json({ weather: 'sunny' }))
`,
  'app/layout.js': 'export default function Layout({ children }) { return children }\n',
  // The folder is built once, so a cache would only be written. The app has no client code of ours to minify.
  'next.config.mjs': `export default {
  productionBrowserSourceMaps: false,
  webpack: (config, { isServer }) => {
    config.cache = false
    if (!isServer) config.optimization.minimize = false
    return config
  },
}
`,
}

async function startApp(environment: { [name: string]: string }): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-next-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(root, 'examples', 'next', 'app'), join(folder, 'app'), { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n')
  symlinkSync(join(directory!, 'node_modules'), join(folder, 'node_modules'))
  const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next')
  const env = { PATH: process.env['PATH'], HOME: folder, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
  // Without the settings, as on a build machine.
  await promisify(execFile)(process.execPath, [next, 'build', '--webpack'], {
    cwd: folder,
    env,
    timeout,
    maxBuffer: 1e7,
  })
  const child = spawn(process.execPath, [next, 'start', '-p', '0', '-H', '127.0.0.1'], {
    cwd: folder,
    env: { ...env, ...environment },
  })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    output += piece
    const url = /(http:\/\/127\.0\.0\.1:[0-9]+)/.exec(output)?.[1]
    if (url === undefined || !/Ready/i.test(output)) continue
    child.stdout.resume()
    return url
  }
  throw new Error(`Next.js did not start: ${output}`)
}

test('a Next.js app sells from its route handlers', { skip, timeout: 2 * timeout }, async (t) => {
  const market = await openMarket({ after })
  const facilitator = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
  const { port } = await facilitator.listen('127.0.0.1', 0)
  after(() => facilitator.stop())
  const url = await startApp({
    AVM_NETWORK: 'local',
    ALGOD_URL: market.devnet.url,
    USDC_ASSET_ID: String(dollar),
    AVM_ADDRESS: market.seller,
    FACILITATOR_URL: `http://127.0.0.1:${port}`,
    ORIGIN: 'https://weather.example',
  })
  const cent = 10_000n
  const earned = async (work: () => Promise<void>): Promise<bigint> => {
    const before = await market.dollars()
    await work()
    return (await market.dollars()) - before
  }

  await t.test('the example asks for a payment, and charges after the handler', async () => {
    const unpaid = await fetch(`${url}/weather`)
    assert.equal(unpaid.status, 402)
    const required = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
    assert.equal(required.resource.url, 'https://weather.example/weather')
    const charged = await earned(async () => {
      const response = await market.payingFetch(`${url}/weather`)
      assert.deepEqual([response.status, await response.json()], [200, { weather: 'sunny' }])
      assert.ok(response.headers.has('payment-response'))
      assert.match(response.headers.get('cache-control')!, /private/)
    })
    assert.equal(charged, cent)
  })

  await t.test('a browser gets the payment page and its files', async () => {
    const headers = { Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
    // A raw request, because `fetch` sends headers that identify it as a program.
    const { status, head, body } = await rawRequest(url, '/weather', { method: 'GET', headers })
    assert.equal(status, 402)
    assert.match(head, /content-type: text\/html; charset=utf-8/i)
    const [, script] = /src="(\?x402-page=[^"]+)"/.exec(body)!
    const file = await fetch(`${url}/weather${script}`)
    assert.deepEqual([file.status, file.headers.get('content-type')], [200, 'text/javascript; charset=utf-8'])
  })

  await t.test('parameters of the route, the query and the payer reach the handler', async () => {
    const response = await market.payingFetch(`${url}/city/Oslo?days=3`)
    const payer = market.devnet.accounts[0]!.address
    assert.deepEqual(await response.json(), { name: 'Oslo', payer, query: '?days=3' })
  })

  await t.test('a handler that fails or redirects by throwing is not charged', async () => {
    const charged = await earned(async () => {
      for (const path of ['/broken', '/moved']) {
        const payment = await market.payment(await fetch(`${url}${path}`))
        const response = await fetch(`${url}${path}`, {
          headers: { 'PAYMENT-SIGNATURE': payment },
          redirect: 'manual',
        })
        assert.equal(response.headers.get('payment-response'), null, path)
        assert.equal(response.status, path === '/broken' ? 503 : 307, path)
      }
    })
    assert.equal(charged, 0n)
  })

  await t.test('a handler whose route is misspelled is not given away', async () => {
    const response = await fetch(`${url}/misspelled`)
    assert.equal(response.status, 404)
    assert.doesNotMatch(await response.text(), /sunny/)
  })
})

/** The extension `bazaar` of the published Python packages: they read our offers and our catalogue, and we read theirs. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { payingCallTool } from '@latchkey/mcp/client'
import { Buyer, discover, type PaymentRequired, payingFetch, Signer } from '@latchkey/x402/client'
import { keyOf, listen, price } from '../x402/trade.test.helper.js'
import {
  environmentOf,
  obtainPython,
  offerOf,
  openShop,
  openTools,
  programPath,
  requests,
  runPython,
  type Shop,
  toolClient,
  toolOffer,
} from './shop.test.helper.js'

const examples = fileURLToPath(new URL('../../../examples/python', import.meta.url))

const packages = [
  { name: 'x402', version: '2.25.0', requirements: 'requirements-official.txt', schemes: 'schemes_official' },
  { name: 'x402-avm', version: '2.0.2', requirements: 'requirements-avm.txt', schemes: 'schemes_avm' },
]

type Extracted = { readonly [name: string]: unknown } & { readonly item: object }
type Result = { readonly extracted: readonly (Extracted | null)[]; readonly listed: readonly unknown[][] | null }

async function read(python: string, input: { offers: readonly PaymentRequired[]; catalogue?: string }) {
  return JSON.parse(await runPython(python, [programPath('bazaar')], JSON.stringify(input))) as Result
}

async function startSeller(t: TestContext, python: string, schemes: string, { trade, facilitatorUrl }: Shop) {
  const given = { AVM_ADDRESS: String(trade.seller.addr), FACILITATOR_URL: facilitatorUrl, PRICE: price }
  const env = environmentOf({ SCHEMES: schemes, EXAMPLES: examples, ...given })
  const child = spawn(python, [programPath('seller_described')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const signal = AbortSignal.timeout(60_000)
  const [port] = await once(createInterface({ input: child.stdout }), 'line', { signal })
  return `http://127.0.0.1:${port}`
}

/** Serves items as `/discovery/resources`, without a search. */
function catalogueOf(t: TestContext, items: readonly object[]): Promise<string> {
  return listen(t, (request, response) => {
    if (!request.url!.startsWith('/discovery/resources')) return void response.writeHead(404).end()
    const body = { x402Version: 2, items, pagination: { limit: 20, offset: 0, total: items.length } }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
}

for (const { name, version, requirements, schemes } of packages) {
  const { python = '', problem } = obtainPython(requirements)
  const skip = problem ?? false

  test(`PyPI ${name} ${version} extracts our declarations, and we read its catalogue`, { skip }, async (t) => {
    const { url } = await openShop(t)
    const offers = await Promise.all(requests.map(([method, path]) => offerOf(`${url}${path}`, method)))
    const { extracted } = await read(python, { offers })
    const found = extracted.map((one) => [one?.['method'], one?.['resource'], one?.['description']])
    const named = (path: string): string => (/^\/\w+\/./.test(path) ? path.replace('Rome', ':city') : path)
    assert.deepEqual(
      found.map(([method, resource]) => `${method} ${resource}`),
      // The older package knows no templates.
      requests.map(([method, path]) => `${method} ${url}${name === 'x402' ? named(path) : path}`),
    )
    assert.deepEqual(
      found.map(([, , description]) => description),
      ['The weather', 'The weather of a city', 'A new note', 'A changed note', 'A deleted note'],
    )
    const theirs = await catalogueOf(
      t,
      extracted.map((one) => one!.item),
    )
    const ours = await discover({ facilitators: theirs })
    assert.deepEqual(
      ours.map(({ method, url: address }) => `${method} ${address}`),
      found.map(([method, resource]) => `${method} ${resource}`),
    )
    assert.equal((await discover({ facilitators: theirs, query: 'changed' })).length, 1)
  })

  const knowsTools = name === 'x402'
  if (knowsTools)
    test(`PyPI ${name} ${version} extracts the declaration of a tool`, { skip }, async (t) => {
      const url = await openTools(t, await openShop(t))
      const { extracted } = await read(python, { offers: [await toolOffer(t, url)] })
      const { type, toolName, resource, info } = extracted[0]!
      assert.deepEqual([type, toolName, resource], ['mcp', 'forecast', url])
      const { input } = info as { input: { inputSchema: { required: string[] }; example: object } }
      assert.deepEqual([input.inputSchema.required, input.example], [['city'], { city: 'Rome' }])
    })

  test(`PyPI ${name} ${version} lists our catalogue, with its own seller and ours`, { skip }, async (t) => {
    const shop = await openShop(t)
    const seller = await startSeller(t, python, schemes, shop)
    const { buyer, chain } = shop.trade
    const signer = Signer.fromSecretKey(keyOf(buyer))
    const pay = payingFetch(new Buyer({ signer, chains: chain }))
    for (const url of [`${shop.url}/weather/Rome`, `${seller}/weather?units=celsius`]) {
      assert.equal((await pay(url)).status, 200, url)
    }
    // Requests that may change something are listed too: the document of the shop says that they are paid.
    for (const method of ['PUT', 'DELETE']) {
      assert.equal((await pay(`${shop.url}/notes/Rome`, { method })).status, 200, method)
    }
    const tools = await openTools(t, shop)
    const callTool = payingCallTool(await toolClient(t, tools), new Buyer({ signer, chains: chain }), { server: tools })
    assert.deepEqual((await callTool({ name: 'forecast', arguments: { city: 'Rome' } })).structuredContent, {
      sky: 'blue',
    })
    await shop.facilitator.catalogue!.idle()
    const { listed } = await read(python, { offers: [], catalogue: shop.facilitatorUrl })
    assert.deepEqual(
      listed!.toSorted(),
      [
        [`${shop.url}/weather/:city`, 'http'],
        [`${shop.url}/notes/:city`, 'http'],
        [`${shop.url}/notes/:city`, 'http'],
        [`${seller}/weather`, 'http'],
        [tools, 'mcp'],
      ].toSorted(),
    )
    const [found] = await discover({ facilitators: shop.facilitatorUrl, query: 'Python shop' })
    assert.deepEqual([found?.url, found?.method], [`${seller}/weather`, 'GET'])
    const [tool] = await discover({ facilitators: shop.facilitatorUrl, query: 'forecast' })
    assert.deepEqual([tool?.url, tool?.type, tool?.toolName], [tools, 'mcp', 'forecast'])
  })
}

/**
 * Runs the examples that need only Node, most of them in this process, with one chain, key daemon and facilitator for
 * all of them. `x402/weather.test.ts` covers every case of examples/weather.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { tool as langChainTool } from '@langchain/core/tools'
import { Network } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'
import { Buyer, payingFetch, paymentOf, Signer } from '@latchkey/x402/client'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { suiteScope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { type Json, root } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { textOf } from './Blocks.test.helper.js'
import { openWorld } from './Provided.test.helper.js'

type Environment = { [name: string]: string }
type Closable = { close: () => unknown; closeAllConnections?: () => void }

const scope = suiteScope()
const world = openWorld(scope)
const folder = temporaryDirectory(scope)
/** Below the compiled tests, so packages resolve. */
const copies = fileURLToPath(new URL(`./examples-${process.pid}/`, import.meta.url))
after(() => rmSync(copies, { recursive: true, force: true }))

const folders = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

async function environment(): Promise<Environment> {
  const { url, accounts } = await world.devnet()
  const chain = { AVM_NETWORK: 'local', ALGOD_URL: url, USDC_ASSET_ID: '31566704' }
  return { ...chain, AVM_ADDRESS: accounts[1]!.address, FACILITATOR_URL: await world.facilitatorUrl(), PORT: '0' }
}

/** Runs a copy of a program in this process, and returns values that the program declares. */
async function load<Name extends string>(
  path: string,
  env: Environment,
  ...names: Name[]
): Promise<{ [name in Name]: Json }> {
  mkdirSync(copies, { recursive: true })
  const copy = join(copies, path.replaceAll('/', '-'))
  writeFileSync(copy, `${textOf(`examples/${path}`)}\nexport { ${names.join(', ')} }\n`)
  return withEnvironment(env, () => import(pathToFileURL(copy).href))
}

async function withEnvironment<T>(env: Environment, run: () => Promise<T>): Promise<T> {
  const before = { ...process.env }
  Object.assign(process.env, env)
  try {
    return await run()
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

async function startShop(t: { after: (end: () => unknown) => void }, path: string, env: Environment = {}) {
  const { server } = await load(path, { ...(await environment()), ...env }, 'server')
  if (!server.listening) await once(server, 'listening')
  t.after(() => {
    const { close, closeAllConnections } = server as Closable
    close.call(server)
    closeAllConnections?.call(server)
  })
  return `http://127.0.0.1:${server.address().port}`
}

async function openBuyer(): Promise<Buyer> {
  const signer = Signer.fromMnemonic((await world.devnet()).accounts[2]!.mnemonic)
  return new Buyer({ signer, chains: await world.chain(), maxPerPayment: '$0.10' })
}

async function assertSold(url: string, fetcher?: (request: Request) => Promise<Response>): Promise<unknown> {
  const unpaid = await (fetcher?.(new Request(url)) ?? fetch(url))
  assert.equal(unpaid.status, 402)
  const options = fetcher && {
    fetch: (input: RequestInfo | URL, init?: RequestInit) => fetcher(new Request(input, init)),
  }
  const response = await payingFetch(await openBuyer(), options)(url)
  assert.equal(response.status, 200)
  assert.equal(paymentOf(response)?.state, 'settled')
  return response.json()
}

test('every example is listed, has a README, and imports published entries only', () => {
  const list = textOf('examples/README.md')
  assert.ok(folders.length >= 13, folders.join(', '))
  const known = [/^node:/, /^\.\//, /^@latchkey\/(?:kmd-client|mcp\/(?:client|server)|x402\/\w+)$/]
  const manifest = JSON.parse(textOf('package.json')) as { devDependencies: object }
  const others = [...Object.keys(manifest.devDependencies), '@modelcontextprotocol/server']
  for (const name of folders) {
    assert.ok(list.includes(`](${name})`), `examples/README.md does not list ${name}`)
    assert.ok(existsSync(join(root, 'examples', name, 'README.md')), `${name} has no README.md`)
    const sources = readdirSync(join(root, 'examples', name), { recursive: true, encoding: 'utf8' })
    for (const file of sources.filter((one) => /^(?!dist|node_modules).*\.[jt]s$/.test(one))) {
      for (const [, from] of textOf(`examples/${name}/${file}`).matchAll(/from '([^']+)'/g)) {
        const isKnown =
          known.some((one) => one.test(from!)) || others.some((one) => from === one || from!.startsWith(`${one}/`))
        assert.ok(isKnown, `${name}/${file} imports ${from}`)
      }
    }
  }
})

test('express sells a report', async (t) => {
  const log = t.mock.method(console, 'log', () => undefined)
  const url = await startShop(t, 'express/seller.js')
  assert.deepEqual(await assertSold(`${url}/weather`), { weather: 'sunny' })
  assert.match(log.mock.calls.flatMap(({ arguments: texts }) => texts).join('\n'), /[A-Z2-7]{58} pays 0\.01 USDC/)
})

test('fastify sells a report', async (t) => {
  t.mock.method(console, 'log', () => undefined)
  const { app } = await load('fastify/seller.js', await environment(), 'app')
  t.after(() => app.close())
  const url = `http://127.0.0.1:${app.server.address().port}`
  assert.deepEqual(await assertSold(`${url}/weather/Oslo`), { city: 'Oslo', weather: 'sunny' })
})

test('edge sells a report through its fetch handler, without an API of Node', async () => {
  assert.doesNotMatch(textOf('examples/edge/worker.js'), /\bprocess\b|\bBuffer\b|node:/)
  const settings = await environment()
  const { default: worker } = await load('edge/worker.js', {})
    // The handler is the default export.
    .then((module) => module as unknown as { default: { fetch: (request: Request, env: object) => Promise<Response> } })
  const url = 'https://weather.example/weather'
  assert.deepEqual(await assertSold(url, (request) => worker.fetch(request, settings)), { weather: 'sunny' })
})

test('next sells a report through its route handler, which opens the gate with the first request', async () => {
  const { GET } = await load('next/app/weather/route.js', {})
    // The handlers are exports.
    .then((module) => module as unknown as { GET: (request: Request) => Promise<Response> })
  const url = 'https://weather.example/weather'
  // Not set while Next.js builds the app.
  const warned = once(process, 'warning')
  assert.equal((await GET(new Request(url))).status, 503)
  assert.equal((await warned)[0].code, 'missing_setting')
  await withEnvironment(await environment(), async () => {
    assert.deepEqual(await assertSold(url, GET), { weather: 'sunny' })
  })
})

test('weather sells a report', async (t) => {
  const program = join(root, 'examples', 'weather', 'dist', 'seller.js')
  const child = spawn(process.execPath, [program], { env: { PATH: process.env['PATH'], ...(await environment()) } })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (piece) => {
    output += String(piece)
  })
  const url = await until('the seller', () => /listening at (\S+)\n/.exec(output)?.[1])
  assert.equal(((await assertSold(`${url}/weather`)) as Json).report.weather, 'sunny')
})

test('passes sells an hour: the second request is not paid', async (t) => {
  t.mock.method(console, 'log', () => undefined)
  const url = await startShop(t, 'passes/seller.js', {
    CLAIMS: join(folder, 'claims.db'),
    PASS_SECRET: 'a secret of the shop, with at least 32 bytes',
  })
  const pay = payingFetch(await openBuyer())
  const first = await pay(`${url}/weather`)
  assert.equal(paymentOf(first)?.state, 'settled')
  assert.equal(((await first.json()) as { requestsLeft: number }).requestsLeft, undefined)
  const second = await pay(`${url}/weather`)
  assert.deepEqual([second.status, paymentOf(second)], [200, undefined])
  assert.equal(((await second.json()) as { requestsLeft: number }).requestsLeft, 98)
})

test('usage streams an answer, and charges for its tokens', async (t) => {
  t.mock.method(console, 'log', () => undefined)
  const url = await startShop(t, 'usage/seller.js')
  const chain = await world.chain()
  const signer = Signer.fromMnemonic((await world.devnet()).accounts[2]!.mnemonic)
  const buyer = new Buyer({ signer, chains: chain })
  const { AVM_ADDRESS } = await environment()
  const received = async (): Promise<bigint> => (await chain.algod.holding(AVM_ADDRESS!, 31566704n))!.amount
  const before = await received()
  const body = 'one two three'
  const answer = await payingFetch(buyer)(`${url}/complete`, { method: 'POST', body })
  assert.deepEqual([answer.status, await answer.text()], [200, 'three two one '])
  await until('the charge', async () => (await received()) - before === 300n)
})

test("agent pays with a token within the owner's limits, and is refused beyond them", async () => {
  const { dataDir, address } = await world.daemon()
  const network = Network.fullCaip2((await world.devnet()).genesisHash).replace('algorand:', '')
  const kmd = await Kmd.connect({ dataDir })
  const [wallet] = await kmd.wallets.list()
  const limits = [{ per: 'total', network, type: 'amount', assetId: 31566704n, amount: 15_000n }] as const
  const rules = { networks: [network], limits, payees: { allow: 'all' } } as const
  const grant = { name: 'shopper', walletId: wallet!.id, password: 'correct horse', addresses: [address], rules }
  const { token } = await kmd.agents.create(grant)
  kmd.close()
  const tokenFile = join(folder, 'shopper.token')
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 })
  const shop = await world.shopUrl()
  const buy = async (): Promise<{ output: string; code: number | null }> => {
    const program = join(root, 'examples', 'agent', 'buyer.js')
    const env = { PATH: process.env['PATH'], ...(await environment()), KMD_DATA_DIR: dataDir }
    const child = spawn(process.execPath, [program, tokenFile, shop], { env })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += String(piece)))
    const [code] = await once(child, 'close')
    return { output, code: code as number | null }
  }
  const paid = await buy()
  assert.match(paid.output, /^\{"weather":"sunny"\}\nPayment [A-Z2-7]{52}: settled\n$/)
  assert.equal(paid.code, 0)
  const refused = await buy()
  assert.equal(refused.code, 1)
  assert.match(refused.output, /limit/)
})

type PaidFetch = {
  name: string
  description: string
  inputSchema: object
  execute: (input: { url: string }) => Promise<Json>
}

async function paidFetchOf(options: { buyer: Buyer; hosts: string[] }): Promise<PaidFetch> {
  const { paidFetch } = await import(pathToFileURL(join(root, 'examples/ai-tool/paidFetch.js')).href)
  return paidFetch(options)
}

test('ai-tool pays for allowed hosts, and reports a refusal to the model', async () => {
  const shop = await world.shopUrl()
  const hosts = [new URL(shop).host]
  const definition = await paidFetchOf({ buyer: await openBuyer(), hosts })
  const { status, untrustedBody, payment } = await definition.execute({ url: shop })
  assert.deepEqual([status, untrustedBody, payment.state], [200, '{"weather":"sunny"}', 'settled'])
  for (const url of ['http://127.0.0.1:1/weather', 'nonsense', 'file:///etc/passwd']) {
    assert.deepEqual(await definition.execute({ url }), { error: 'This host is not allowed.' })
  }
  const signer = Signer.fromMnemonic((await world.devnet()).accounts[2]!.mnemonic)
  const poor = new Buyer({ signer, chains: await world.chain(), maxPerPayment: '$0.001' })
  const refused = await (await paidFetchOf({ buyer: poor, hosts })).execute({ url: shop })
  assert.match(refused.error, /not paid/)
})

test('ai-tool is a tool of the AI SDK: a scripted model calls it', async () => {
  const shop = await world.shopUrl()
  const definition = await paidFetchOf({ buyer: await openBuyer(), hosts: [new URL(shop).host] })
  const line = 'tool({ ...definition, inputSchema: jsonSchema(definition.inputSchema) })'
  assert.ok(textOf('examples/ai-tool/README.md').includes(line))
  const paid_fetch = tool({ ...definition, inputSchema: jsonSchema<{ url: string }>(definition.inputSchema) })
  const tokens = { total: 1 }
  const call = { type: 'tool-call', toolCallId: '1', toolName: definition.name, input: JSON.stringify({ url: shop }) }
  const answer = (content: object, reason: string) =>
    ({
      content: [content],
      finishReason: { unified: reason },
      usage: { inputTokens: tokens, outputTokens: tokens },
      warnings: [],
    }) as Json
  const model = new MockLanguageModelV3({
    doGenerate: [answer(call, 'tool-calls'), answer({ type: 'text', text: 'sunny' }, 'stop')],
  })
  const result = await generateText({
    model,
    tools: { paid_fetch },
    prompt: 'How is the weather?',
    stopWhen: stepCountIs(2),
  })
  assert.equal(result.text, 'sunny')
  assert.equal((result.steps[0]!.toolResults[0]!.output as Json).payment.state, 'settled')
  const [offered] = model.doGenerateCalls[0]!.tools as Json
  assert.deepEqual([offered.name, offered.inputSchema], [definition.name, definition.inputSchema])
})

test('ai-tool is a tool of LangChain: it runs a tool call and checks the arguments', async () => {
  const shop = await world.shopUrl()
  const definition = await paidFetchOf({ buyer: await openBuyer(), hosts: [new URL(shop).host] })
  const line = 'tool(definition.execute, { name, description, schema: definition.inputSchema })'
  assert.ok(textOf('examples/ai-tool/README.md').includes(line))
  const { name, description } = definition
  const paidTool = langChainTool(definition.execute as Json, { name, description, schema: definition.inputSchema })
  const message: Json = await paidTool.invoke({ type: 'tool_call', id: '1', name, args: { url: shop } })
  assert.equal(JSON.parse(message.content).payment.state, 'settled')
  await assert.rejects(paidTool.invoke({ address: shop } as Json), /did not match expected schema/)
})

test('webhook accepts signed messages, refuses others, and shares its check with docs/agents.md', async (t) => {
  const program = join(root, 'examples', 'webhook', 'receiver.js')
  const [check] = /^function isGenuine.*?^}$/ms.exec(textOf('examples/webhook/receiver.js'))!
  assert.ok(textOf('docs/agents.md').includes(check))
  const [port, secret] = [await freePort(), '5a'.repeat(32)]
  const env = { PATH: process.env['PATH'], PORT: String(port), WEBHOOK_SECRET: secret }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (piece) => {
    output += String(piece)
  })
  const approval = { id: 'A1', agent_name: 'shopper', description: ['Pays 1 USDC.'] }
  const body = JSON.stringify({ type: 'approval.open', approval })
  const seconds = Math.floor(Date.now() / 1000)
  const post = async (key: string): Promise<number | undefined> => {
    const mac = createHmac('sha256', Buffer.from(key, 'hex')).update(`${seconds}.${body}`).digest('hex')
    const headers = { 'Latchkey-Signature': `t=${seconds},v1=${mac}` }
    const url = `http://127.0.0.1:${port}/approvals`
    return (await fetch(url, { method: 'POST', body, headers }).catch(() => undefined))?.status
  }
  assert.equal(await until('the receiver', () => post('00'.repeat(32))), 401)
  assert.equal(await post(secret), 204)
  await until('the message', () => output.endsWith('latchkey approvals approve A1\n'))
  assert.equal(output.split('\n')[0], 'approval.open A1 shopper Pays 1 USDC.')
})

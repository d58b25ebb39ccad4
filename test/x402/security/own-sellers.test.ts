/** Tests every seller that we ship or show: each is run as written, asked for its goods without a payment, and paid. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, Server as HttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { Buyer, Chain, payingFetch, Signer } from '@latchkey/x402/client'
import { type Block, blocksOf, nameOf, pages } from '../../docs/Blocks.test.helper.js'
import { compile, type Declared, removeCompiled } from '../../docs/Code.test.helper.js'
import { environmentFor, openWorld, provide, type World } from '../../docs/Provided.test.helper.js'
import { atEnd, until } from '../../process/commands.test.helper.js'
import { root } from '../../support/daemon.test.helper.js'
import { latchkeyCommand } from '../../support/devnet.test.helper.js'
import { attack } from './support/sellerAttack.test.helper.js'

const timeout = 240_000

/** Blocks with a gate that serve nothing, or charge for usage (test/x402/upto), identified by words in them. */
const withoutGoods = [
  ['docs/selling.md', "charge?.('$0.0132')"],
  ['README.md', 'app.use(paymentGate(gate))\n\n// Buying'],
  ['docs/published-packages.md', 'paymentMiddleware('],
  ['docs/selling.md', "app.use(await paymentGate({ payTo, facilitators: 'http://127.0.0.1:4022'"],
  ['packages/x402/src/server/adapters/express.ts', 'app.use('],
] as const

/** Sellers that other tests start: one with its replicas (test/operating), and one that sells quotes (test/publish). */
const runElsewhere = ['docs/deploying.md', 'docs/tutorial.md']

const isSeller = ({ page, language, text }: Block): boolean =>
  !runElsewhere.includes(page) && (language === 'ts' || language === 'js') && /payment(Gate|Middleware)\(/.test(text)
const hasGoods = ({ page, text }: Block): boolean =>
  !withoutGoods.some(([where, words]) => where === page && text.includes(words))

/** What an example in a comment of an adapter assumes. */
const adapterImports: { readonly [adapter: string]: string } = {
  node: "import { createServer } from 'node:http'\nimport { paymentGate } from '@latchkey/x402/node'",
  hono: "import { Hono } from 'hono'\nimport { paymentGate } from '@latchkey/x402/hono'",
  express: "import express from 'express'\nimport { paymentGate } from '@latchkey/x402/express'\nconst app = express()",
  web: "import { paymentGate } from '@latchkey/x402/web'",
  fastify: "import fastify from 'fastify'\nimport { paymentGate } from '@latchkey/x402/fastify'\nconst app = fastify()",
}

/** Returns the examples of the adapters, which editors and the reference show. */
function commentExamples(): Block[] {
  return Object.entries(adapterImports).flatMap(([adapter, imports]) => {
    const page = `packages/x402/src/server/adapters/${adapter}.ts`
    const examples = readFileSync(join(root, page), 'utf8').matchAll(/ \* @example\n((?: \* .*\n)+?)(?= \* @| \*\/)/g)
    return [...examples].map(([, lines]) => {
      const text = `${imports}\nconst url = process.env.FACILITATOR_URL\n${lines!.replaceAll(/^ \* /gm, '')}`
      // The devnet has another genesis hash than TestNet.
      const onDevnet = text.replace('{ payTo, facilitators: url', '{ payTo, chains: chain, facilitators: url')
      return { page, line: 1, language: 'js', about: '', section: '', text: onDevnet }
    })
  })
}

const start = readdirSync(join(root, 'docs', 'start')).filter((name) => name.endsWith('.md'))
const sellers = [...pages(), ...start.map((name) => `docs/start/${name}`)]
  .flatMap((page) => blocksOf(page))
  .concat(commentExamples())
  .filter(isSeller)
  .filter(hasGoods)
  .map((block) => ({ ...block, text: block.text.replaceAll(/^export /gm, '') }))
const compiled = compile(sellers)
after(removeCompiled)

for (const block of sellers) {
  test(`A14 ${nameOf(block)} serves nothing unpaid`, { timeout }, async (t) => {
    const world = { ...openWorld(t), block: block.text }
    const { faults, needs, load } = compiled.get(block)!
    assert.deepEqual(faults, [])
    const environment = block.language === 'js' ? await environmentFor(world) : {}
    const provided = await provide(world, needs)
    const runBlock = await load()
    const restore = setEnvironment(environment)
    const servers = recordServers(t)
    let declared: Declared
    try {
      declared = await runBlock(provided)
    } finally {
      restore()
    }
    const [server] = servers()
    const url =
      server === undefined ? await serve(t, await appOf({ ...provided, ...declared }, world)) : await urlOf(server)
    await checkSeller(url, world)
  })
}

test('A14 every page that shows a seller is included', () => {
  const shown = new Set(sellers.map(({ page }) => page))
  for (const page of [
    'docs/selling.md',
    'docs/start/selling.md',
    'docs/start/tests.md',
    'packages/x402/README.md',
    'packages/x402/src/server/adapters/node.ts',
    'packages/x402/src/server/adapters/hono.ts',
    'packages/x402/src/server/adapters/web.ts',
    'docs/frameworks.md',
    'packages/x402/src/server/adapters/fastify.ts',
  ]) {
    assert.ok(shown.has(page), page)
  }
})

test('A14 the weather example serves nothing unpaid', { timeout }, async (t) => {
  const world = openWorld(t)
  const devnet = await world.devnet()
  const output = run(t, [join(root, 'examples', 'weather', 'dist', 'seller.js')], {
    AVM_NETWORK: 'local',
    ALGOD_URL: devnet.url,
    USDC_ASSET_ID: '31566704',
    AVM_ADDRESS: devnet.accounts[1]!.address,
    FACILITATOR_URL: await world.facilitatorUrl(),
    PORT: '0',
  })
  const [, port] = await until(
    'the seller',
    () => /listening at http:\/\/127\.0\.0\.1:([0-9]+)\s/.exec(output()) ?? undefined,
  )
  await checkSeller(`http://127.0.0.1:${port}`, world)
})

test('A14 the seller of latchkey dev serves nothing unpaid', { timeout }, async (t) => {
  const output = run(t, [latchkeyCommand, 'dev', '--ephemeral', '--any-port', '--json'], {})
  await until('the stack', () => output().endsWith('\n'))
  const { seller } = JSON.parse(output()) as { seller: { url: string } }
  assert.ok((await attack(new URL(seller.url).origin)) > 300)
})

/**
 * Checks that nothing is given away, and that a buyer who pays is served. Otherwise a seller that serves nothing would
 * pass.
 */
async function checkSeller(url: string, world: World): Promise<void> {
  assert.ok((await attack(url)) > 300)
  const { url: nodes, genesisHash, accounts } = await world.devnet()
  // Pages call the chain by this name.
  const chains = [await world.chain(), await Chain.open({ network: 'testnet', nodes, genesisHash })]
  const buyer = new Buyer({ signer: Signer.fromMnemonic(accounts[2]!.mnemonic), chains })
  const paid = await payingFetch(buyer)(`${url}/weather`)
  assert.match(await paid.text(), /sunny/)
  assert.equal(paid.status, 200)
}

type Fetching = { fetch: (request: Request) => Response | Promise<Response> }
type App =
  | RequestListener
  | HttpServer
  | Fetching
  | { ready: () => Promise<unknown>; server: { address: () => unknown } }

/** Returns the app that a block declares, or calls the function that creates it. */
async function appOf(declared: Declared, world: World): Promise<App> {
  const { createApp, handler, GET: routeHandler = handler } = declared
  if (typeof routeHandler === 'function') return { fetch: (request) => routeHandler(request) as Promise<Response> }
  if (typeof createApp !== 'function') return (declared['app'] ?? declared['shop'] ?? declared['server']) as App
  const payTo = (await world.devnet()).accounts[1]!.address
  const chain = await world.chain()
  return createApp({ chain, chains: chain, payTo, facilitators: await world.facilitatorUrl() }) as Promise<App>
}

async function serve(t: TestContext, app: App): Promise<string> {
  assert.ok(app !== undefined, 'the block has nothing to serve')
  if ('listen' in app && 'ready' in app) {
    const fastify = app as unknown as { listen: (options: object) => Promise<string>; close: () => Promise<void> }
    atEnd(t, () => fastify.close())
    return fastify.listen({ port: 0, host: '127.0.0.1' })
  }
  const listener = 'fetch' in app ? getRequestListener(app.fetch) : (app as RequestListener)
  const server = (app instanceof HttpServer ? app : createServer(listener)).listen(0, '127.0.0.1')
  atEnd(t, () => {
    server.close()
    server.closeAllConnections()
  })
  return urlOf(server)
}

async function urlOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Makes the servers of a block listen on a free port, and stops them with the test. */
function recordServers(t: TestContext): () => Server[] {
  const started: Server[] = []
  const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server
  const mock = t.mock.method(Server.prototype, 'listen', function (this: Server, ...[port, ...others]: unknown[]) {
    started.push(this)
    atEnd(t, () => {
      this.close()
      if ('closeAllConnections' in this) (this.closeAllConnections as () => void)()
    })
    return listen.call(this, typeof port === 'number' ? 0 : port, ...others)
  })
  return () => {
    mock.mock.restore()
    return started
  }
}

function setEnvironment(environment: { [name: string]: string }): () => void {
  const before = { ...process.env }
  Object.assign(process.env, environment)
  return () => {
    for (const name of Object.keys(environment)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

/** Returns the output of a program while the test runs. */
function run(t: TestContext, args: readonly string[], env: { [name: string]: string }): () => string {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', HOME: root, ...env } })
  atEnd(t, async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return () => output
}

/** Tests `latchkey gateway`: one command sells a service that knows nothing of payments, to buyers of several families. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { temporaryDirectory, until } from '../process/commands.test.helper.js'
import { latchkey } from '../support/latchkey.test.helper.js'
import { ours } from '../x402/interop.test.helper.js'
import { cent, listen, openTrade, possessions } from '../x402/trade.test.helper.js'
import { allBuyers, startGateway } from './gateway.test.helper.js'

const { genesisHash } = Network.testnet

test('one command sells a service to our buyer and to published ones', async (t) => {
  t.mock.method(console, 'log', () => {})
  const trade = await openTrade(t, { genesisHash })
  const requests: string[] = []
  const upstream = await listen(t, (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers['x-payment-payer']}`)
    response.setHeader('Content-Type', 'text/plain').end('goods')
  })
  const facilitator = await ours.facilitators['ours']!(t, trade)
  const seller = String(trade.seller.addr)
  const options = ['--upstream', upstream, '--price', 'GET /v1/*=$0.01', '--pay-to', seller, '--free', 'GET /health']
  const gateway = await startGateway(t, trade, [...options, '--facilitator', facilitator])
  assert.equal(await (await fetch(`${gateway.url}/health`)).text(), 'goods')
  assert.equal((await fetch(`${gateway.url}/other`)).status, 404)
  assert.equal((await fetch(`${gateway.url}/v1/x`)).status, 402)
  const buyers = allBuyers()
  const before = await possessions(trade)
  const names = Object.keys(buyers)
  for (const family of ['Latchkey', '@x402/fetch', '@x402-avm']) {
    assert.ok(
      names.some((name) => name.startsWith(family)),
      names.join(),
    )
  }
  for (const [index, name] of names.entries()) {
    const { status, body, receipt } = await buyers[name]!(trade, `${gateway.url}/v1/${index}`)
    assert.deepEqual([status, body], [200, 'goods'], name)
    assert.ok(receipt, name)
  }
  const after = await possessions(trade)
  assert.equal(after.seller[1]! - before.seller[1]!, cent * BigInt(names.length))
  assert.deepEqual(requests, [
    'GET /health undefined',
    ...names.map((_, index) => `GET /v1/${index} ${String(trade.buyer.addr)}`),
  ])
  gateway.signal('SIGTERM')
  assert.deepEqual(await gateway.exited, [0, null])
})

test('SIGHUP reads the file again, and a file that cannot be used changes nothing', async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const keys: unknown[] = []
  const upstream = await listen(t, (request, response) => {
    keys.push(request.headers.authorization)
    response.end('goods')
  })
  const file = join(temporaryDirectory(t), 'gateway.json')
  const facilitator = await ours.facilitators['ours']!(t, trade)
  const write = (changes: object): void => {
    const headers = { Authorization: { env: 'SERVICE_KEY', prefix: 'Bearer ' } }
    const payTo = String(trade.seller.addr)
    writeFileSync(file, JSON.stringify({ upstream, facilitator, payTo, headers, ...changes }))
  }
  write({ routes: { 'GET /a': '$0.01' }, discovery: { title: 'Goods' } })
  const gateway = await startGateway(t, trade, ['--config', file], { SERVICE_KEY: 'secret' })
  const priceOf = async (path: string): Promise<unknown> => {
    const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: never }
    return paths[path]?.['get']?.['x-payment-info']?.['price']?.['amount']
  }
  assert.equal(await priceOf('/a'), '0.010000')
  const { body } = await ours.buyers['ours']!(trade, `${gateway.url}/a`)
  assert.deepEqual([body, keys], ['goods', ['Bearer secret']])
  write({ routes: { 'GET /a': { price: '$0.02', description: 'goods' } }, discovery: { title: 'Goods' } })
  gateway.signal('SIGHUP')
  await until('the new settings', () => gateway.log().includes('settings reloaded'))
  assert.equal(await priceOf('/a'), '0.020000')
  write({ routes: { 'GET /a': '$0.03' }, discovry: {} })
  gateway.signal('SIGHUP')
  await until('the refusal', () => gateway.log().includes('unknown member'))
  assert.equal(await priceOf('/a'), '0.020000')
})

test('a server does not start with a node of another network, and names it', async (t) => {
  const { devnet, seller } = await openTrade(t)
  const payTo = ['--pay-to', String(seller.addr)]
  const facilitator = await listen(t, (_, response) => void response.end('{"kinds":[]}'))
  const gateway = [
    'gateway',
    '--upstream',
    'http://127.0.0.1:1',
    '--price',
    '/a=$1',
    ...payTo,
    '--facilitator',
    facilitator,
  ]
  for (const args of [gateway, ['facilitator', ...payTo]]) {
    const nodes = ['--node', 'http://127.0.0.1:1', '--node', devnet.url]
    const { code, stderr } = await latchkey([...args, '--port', '0', '--network', 'testnet', ...nodes])
    assert.notEqual(code, 0)
    assert.ok(stderr.includes(`${devnet.url}: the node belongs to`), stderr)
    assert.match(stderr, /not to .*TestNet/)
  }
})

test('names what is missing or wrong', async (t) => {
  const file = join(temporaryDirectory(t), 'gateway.json')
  t.after(() => rmSync(file, { force: true }))
  const run = async (args: readonly string[], content?: string): Promise<string> => {
    if (content !== undefined) writeFileSync(file, content)
    const { code, stderr } = await latchkey(['gateway', ...args])
    assert.notEqual(code, 0)
    return stderr
  }
  assert.match(await run([]), /--upstream is missing/)
  assert.match(await run(['--upstream', 'http://x']), /--facilitator is missing/)
  const both = ['--upstream', 'http://x', '--facilitator', 'http://y']
  assert.match(await run(both), /--price is missing/)
  assert.match(await run([...both, '--price', '/bin/bash.01']), /--price cannot be .*bash[\s\S]*single quotes/)
  assert.match(await run(['--config', file], '[]'), /is not a JSON object/)
  assert.match(await run(['--config', file], '{"upstrem":""}'), /unknown member upstrem/)
  assert.match(await run([...both, '--config', file], '{"routes":{"/a":{"prize":1}}}'), /unknown member prize/)
  const key =
    '{"routes":{"/a":"$1"},"payTo":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ","headers":{"A":{"env":"NOT_SET"}}}'
  assert.match(await run([...both, '--config', file], key), /needs the environment variable NOT_SET/)
})

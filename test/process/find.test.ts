/** Tests `latchkey find` on a dev stack, whose facilitator catalogues what it settles. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, suite, test } from 'node:test'
import { hostedLatchkey, startHostedLatchkey } from '../support/latchkey.test.helper.js'
import { suiteScope, temporaryDirectory, until } from './commands.test.helper.js'

type Facts = { seller: { url: string }; facilitator: { url: string } }
type Found = { resources: { url: string; prices: { price: string }[]; settleCount: number }[] }

suite('latchkey find', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  let facts: Facts

  const run = (args: string[]) =>
    hostedLatchkey(['find', ...args], { home: directory, env: { USDC_ASSET_ID: '31566704' } })

  before(async () => {
    const stack = startHostedLatchkey(scope, ['dev', '--ephemeral', '--any-port', '--json'], { env: process.env })
    await until('the stack', () => stack.stdout().endsWith('\n'))
    facts = JSON.parse(stack.stdout()) as Facts
  })

  test('finds what was settled, with its price in words', async () => {
    const facilitator = ['--facilitator', facts.facilitator.url]
    const empty = await run(['cooking', ...facilitator])
    assert.deepEqual([empty.code, empty.stdout], [0, ''])
    assert.match(empty.stderr, /Nothing was found/)
    // The stack pays for a request when it starts.
    let found: Found = { resources: [] }
    await until('the listing', async () => {
      found = JSON.parse((await run(['weather', '--json', ...facilitator])).stdout) as Found
      return found.resources.length > 0
    })
    const [resource] = found.resources
    assert.equal(resource?.url, `${new URL(facts.seller.url).origin}/weather`)
    assert.equal(resource?.prices[0]?.price, '$0.01 on the local network')
    const { stdout, stderr } = await run(['now', 'weather', ...facilitator])
    assert.match(
      stdout,
      /^GET http:\/\/127\.0\.0\.1:\d+\/weather\n {2}\$0\.01 on the local network\n {2}paid to [A-Z2-7]{58}\n/,
    )
    assert.match(stdout, /\n {2}"The weather, now"\n {2}1 payment settled\n$/)
    assert.match(stderr, /not checked/)
  })

  test('shows the text of strangers on one line without control characters', async (t) => {
    const item = {
      resource: 'https://shop.example/\u001b[2J',
      accepts: [
        { scheme: 'exact', network: 'eip155:1', amount: '5', asset: '0x1', payTo: '0x2', maxTimeoutSeconds: 60 },
      ],
      description: 'one\n\u001b[2Jtwo\u202e',
    }
    const server = createServer((_, response) => response.end(JSON.stringify({ items: [item], resources: [item] })))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      server.close()
      server.closeAllConnections()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { stdout } = await run(['--facilitator', url])
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/)
    assert.equal(stdout.trimEnd().split('\n').length, 4)
  })

  test('says what is missing or wrong, with exit codes', async () => {
    const none = await run(['weather'])
    assert.equal(none.code, 2)
    assert.match(none.stderr, /--facilitator/)
    assert.equal((await run(['--facilitator', 'ftp://x'])).code, 2)
    assert.equal((await run(['--facilitator', facts.facilitator.url, '--network', 'nowhere'])).code, 2)
    assert.equal((await run(['--facilitator', facts.facilitator.url, '--limit', '0'])).code, 2)
    const away = await run(['--facilitator', 'http://127.0.0.1:1'])
    assert.equal(away.code, 5)
    const other = await run(['--facilitator', facts.seller.url])
    assert.equal(other.code, 3)
  })
})

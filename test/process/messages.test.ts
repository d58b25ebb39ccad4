/**
 * Tests how the commands report failures: in one line, without control characters, in the terms of the command line.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { startHostedDevnet } from '../support/devnet.test.helper.js'
import { hostedLatchkey } from '../support/latchkey.test.helper.js'
import { atEnd, temporaryDirectory } from './commands.test.helper.js'

const secretKey = 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGKiOPddAnxlf1S2y08ul1yymcJvx2UEhvzdIgBtA9vXA=='
const hostileText = 'x\u001b]0;TITLE\u0007\u001b[31mRED\u009b2J\u202e\u2028\nlatchkey pay: Paid: transaction FAKE'
const caip2 = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDd'

async function startHostileNode(t: TestContext, status: number): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message: hostileText }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

suite('messages of the commands', { concurrency: 2, timeout: 600_000 }, () => {
  test("a node's text cannot print control characters or extra lines", async (t) => {
    const env = { AVM_PRIVATE_KEY: secretKey, HOME: temporaryDirectory(t) }
    for (const status of [400, 500]) {
      const node = await startHostileNode(t, status)
      const chain = ['--network', 'local', '--node', node]
      const store = join(temporaryDirectory(t), 'store.db')
      for (const args of [
        ['pay', 'http://127.0.0.1:9/', ...chain],
        ['facilitator', '--port', '0', '--store', store, ...chain],
      ]) {
        const { code, stderr } = await hostedLatchkey(args, { env })
        assert.equal(code, 3, stderr)
        assert.match(stderr, /RED/)
        assert.match(stderr, /^[^\p{C}\u2028\u2029]+\n$/u)
      }
      const doctor = await hostedLatchkey(['doctor', '-d', join(temporaryDirectory(t), 'none'), ...chain], { env })
      assert.match(doctor.stdout, /RED/)
      assert.doesNotMatch(doctor.stdout.replaceAll('\n', ''), /[\p{C}\u2028\u2029]/u)
      assert.doesNotMatch(doctor.stdout, /^latchkey pay:/m)
    }
  })

  test('doctor colours the state of each line where colour is wanted', async (t) => {
    const missing = join(temporaryDirectory(t), 'none')
    const colored = await hostedLatchkey(['doctor', '-d', missing], { env: { FORCE_COLOR: '1' } })
    assert.match(colored.stdout, /^\x1b\[3[123]m(?:ok|warning|fault)\x1b\[0m +\S/m)
    const plain = await hostedLatchkey(['doctor', '-d', missing], { env: { NO_COLOR: '1' } })
    assert.equal(plain.stdout.includes('\x1b'), false)
    assert.equal(colored.stdout.replaceAll(/\x1b\[\d+m/g, ''), plain.stdout)
  })

  test('a hint names options of the command line', async (t) => {
    const home = temporaryDirectory(t)
    const none = join(home, 'none')
    const url = 'http://127.0.0.1:9/'
    const own = { AVM_PRIVATE_KEY: secretKey }
    const { facts } = await startHostedDevnet({ after: (work) => atEnd(t, work) })
    const node = ['--network', 'local', '--node', facts.url]
    const cases: [string[], { [name: string]: string }, number, string][] = [
      [['pay', url, ...node, '--max', 'foo'], own, 3, '"foo" is not a price; write --max like "$0.01"'],
      [['pay', url, ...node, '--max', '0'], own, 3, "--max is zero; give a price like '$0.05'"],
      [['pay', url, ...node, '--max', '5 ALGO'], own, 3, "--max is not in dollars; give a price like '$0.05'"],
      [['pay', url, '--network', caip2], own, 3, 'the network has no public node; give a node with --node'],
      [
        ['pay', url, '--node', 'ftp://127.0.0.1'],
        own,
        3,
        'the node must be an http or https URL; correct --node, or ALGOD_URL and ALGOD_TOKEN in the environment',
      ],
      [
        ['pay', url, ...node, '-d', none, '-w', 'a', '--key', 'short', '--no-password'],
        {},
        3,
        'short is not an Algorand address; give an address from latchkey key list with --key or KMD_KEY',
      ],
      [
        ['facilitator', ...node, '-d', none, '-w', 'a', '--key', 'short', '--no-password'],
        {},
        3,
        'short is not an Algorand address; give an address from latchkey key list with --key or KMD_KEY',
      ],
      [
        ['wallet', 'list', '-d', none],
        {},
        5,
        `no key daemon is running in ${none}; start one with latchkey kmd -d ${none}`,
      ],
    ]
    for (const [args, environment, expected, message] of cases) {
      const { code, stderr } = await hostedLatchkey(args, { env: { HOME: home, ...environment } })
      const name = args[0] === 'wallet' ? 'wallet list' : args[0]
      assert.deepEqual([code, stderr], [expected, `latchkey ${name}: ${message}\n`])
    }
  })
})

/** Tests the command `latchkey pay`: the price, the confirmation, the payment and the output. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { Chain, Gate } from '@latchkey/x402/server'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, type Outcome, startHostedLatchkey } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope, temporaryDirectory, until } from './commands.test.helper.js'

type Facts = {
  devnet: { url: string; accounts: { address: string; mnemonic: string }[] }
  kmd: { dataDir: string }
  seller: { url: string }
  buyer: { address: string; wallet: string }
  environment: { [name: string]: string }
}

suite('latchkey pay', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const log = join(directory, 'payments.jsonl')
  let facts: Facts

  before(async () => {
    const stack = startHostedLatchkey(scope, ['dev', '--ephemeral', '--any-port', '--json'], { env: process.env })
    await until('the stack', () => stack.stdout().endsWith('\n'))
    facts = JSON.parse(stack.stdout()) as Facts
  })

  const options = (): string[] => [
    '--network',
    'local',
    '--node',
    facts.devnet.url,
    '--dollar',
    '31566704',
    '--log',
    log,
  ]
  const words = (index = 2): { [name: string]: string } => ({ AVM_MNEMONIC: facts.devnet.accounts[index]!.mnemonic })

  const run = (args: string[], env: { [name: string]: string }): Promise<Outcome> =>
    hostedLatchkey(['pay', ...args], { home: directory, env })

  test('shows the price, pays, and prints only the body on stdout', async () => {
    const { code, stdout, stderr } = await run([facts.seller.url, '--yes', ...options()], words())
    assert.equal(code, 0)
    assert.deepEqual(Object.keys(JSON.parse(stdout)), ['report'])
    assert.match(
      stderr,
      /^The seller describes it as "The weather, now"\.\nThe request costs \$0\.01 \(USDC, asset 31566704\), to [A-Z2-7]{58} on the local network\.\n/,
    )
    const [, transaction] =
      /\nPaid \$0\.01 \(USDC, asset 31566704\) to [A-Z2-7]{58} on the local network: transaction ([A-Z2-7]{52})\.\n/.exec(
        stderr,
      )!
    const pending = await fetch(`${facts.devnet.url}/v2/transactions/pending/${transaction}`)
    assert.equal(pending.status, 200)
    assert.ok(readFileSync(log, 'utf8').includes(transaction!))
  })

  test('shows the maximum of a price by usage, and the charge, with a key here and in the daemon', async (t) => {
    const { kmd, buyer, devnet, environment } = facts
    const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: 31566704n })
    const accepts = { price: { upTo: '$0.50' }, payTo: devnet.accounts[3]!.address }
    const facilitators = environment['FACILITATOR_URL']!
    const gate = await Gate.open({ routes: { '/model': { accepts } }, chains: chain, facilitators })
    const server = createServer(
      paymentGate(gate, (request, response) => {
        paymentOf(request)?.charge?.('$0.0132')
        response.end('{}')
      }),
    ).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
    const keyOptions = ['-d', kmd.dataDir, '--wallet', buyer.wallet, '--key', buyer.address, '--no-password']
    const dollar = String.raw`\(USDC, asset 31566704\)`
    for (const [more, env] of [[[], words()] as const, [keyOptions, {}] as const]) {
      const { code, stderr } = await run([url, '--yes', ...more, ...options()], env)
      assert.equal(code, 0, stderr)
      assert.match(stderr, new RegExp(`^The request costs up to \\$0\\.5 ${dollar}, to `))
      assert.match(stderr, new RegExp(`\nPaid \\$0\\.0132 ${dollar} of up to \\$0\\.5 ${dollar} to `))
    }
    const { stderr } = await run([url, '--yes', '--json', ...options()], words())
    const { state, payment, receipt } = JSON.parse(stderr.trim().split('\n').at(-1)!)
    assert.deepEqual([state, payment.amount, receipt.amount], ['settled', '500000', '13200'])
    assert.deepEqual([payment.charge.amount, payment.charge.transactionId], ['13200', receipt.transaction])
    const refused = await run([url, '--yes', '--max', '$0.49', ...options()], words())
    assert.notEqual(refused.code, 0, 'the limit applies to the maximum')
  })

  test('pays with a key in the daemon', async () => {
    const { kmd, buyer, seller } = facts
    const keyOptions = ['-d', kmd.dataDir, '--wallet', buyer.wallet, '--key', buyer.address, '--no-password']
    const { code, stderr } = await run([seller.url, '-y', '--json', ...keyOptions, ...options()], {})
    assert.equal(code, 0, stderr)
    const { status, state, payment, receipt } = JSON.parse(stderr.trim().split('\n').at(-1)!)
    assert.deepEqual([status, state, receipt.success, receipt.payer], [200, 'settled', true, buyer.address])
    assert.deepEqual([payment.transaction, payment.amount], [receipt.transaction, '10000'])
  })

  test('needs only the URL with the environment that dev prints', async () => {
    const { code, stderr } = await run([facts.seller.url, '-y', '--log', log], facts.environment)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /\nPaid \$0\.01 /)
  })

  test('asks for confirmation, and pays only on yes', { skip: missingProgram('python3') }, async () => {
    const command = [process.execPath, latchkeyCommand, 'pay', facts.seller.url, ...options()]
    const inTerminal = (reply: string): Promise<Outcome> => {
      const script = `import pty, sys, os\nstatus = pty.spawn(${JSON.stringify(command)})\nsys.exit(os.waitstatus_to_exitcode(status))`
      const child = spawn('python3', ['-c', script], { env: { ...process.env, HOME: directory, ...words() } })
      let stdout = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        stdout += piece
        if (piece.includes('Pay? [y/N]')) child.stdin.write(`${reply}\n`)
      })
      return once(child, 'close').then(([code]) => ({ code: code as number, stdout, stderr: '' }))
    }
    const no = await inTerminal('')
    assert.equal(no.code, 1, no.stdout)
    assert.match(no.stdout, /nothing was paid/)
    const yes = await inTerminal('y')
    assert.equal(yes.code, 0, yes.stdout)
    assert.match(yes.stdout, /\nPaid \$0\.01 /)
  })

  test('pays nothing without confirmation, above the limit, or without funds', async () => {
    const silent = await run([facts.seller.url, ...options()], words())
    assert.equal(silent.code, 2)
    assert.match(silent.stderr, /give --yes to pay/)
    const dear = await run([facts.seller.url, '-y', '--max', '$0.005', ...options()], words())
    assert.equal(dear.code, 3)
    assert.match(
      dear.stderr,
      /^latchkey pay: not paid: \$0\.01 is above the limit of \$0\.005 for one payment; raise the limit with --max\n$/,
    )
    const otherAsset = await run([facts.seller.url, '-y', ...options(), '--dollar', '5'], words())
    assert.equal(otherAsset.code, 3)
    const refusal = "not paid: the price is in asset 31566704, which is not the network's dollar"
    assert.equal(otherAsset.stderr, `latchkey pay: ${refusal}; if it is, give its id with --dollar\n`)
    const unfunded = {
      AVM_PRIVATE_KEY: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGKiOPddAnxlf1S2y08ul1yymcJvx2UEhvzdIgBtA9vXA==',
    }
    const poor = await run([facts.seller.url, '-y', ...options()], unfunded)
    assert.equal(poor.code, 3)
    assert.match(
      poor.stderr,
      /not opted in to asset 31566704; opt in, then buy or receive some: latchkey opt-in 31566704 --account [A-Z2-7]{58}\n$/,
    )
  })

  test('names the next step if the daemon does not sign', async () => {
    const { kmd, buyer, seller } = facts
    const withKey = (dataDir: string, wallet: string): string[] => [
      seller.url,
      '-y',
      ...options(),
      '-d',
      dataDir,
      '-w',
      wallet,
      '--key',
      buyer.address,
      '--no-password',
    ]
    const unknown = await run(withKey(kmd.dataDir, 'nothere'), {})
    assert.equal(unknown.code, 3)
    assert.match(
      unknown.stderr,
      /\nlatchkey pay: wallet "nothere" not found; list the wallets with latchkey wallet list\n$/,
    )
    const none = join(directory, 'none')
    const stopped = await run(withKey(none, buyer.wallet), {})
    assert.equal(stopped.code, 5)
    assert.ok(
      stopped.stderr.endsWith(
        `\nlatchkey pay: no key daemon is running in ${none}; start one with latchkey kmd -d ${none}\n`,
      ),
    )
  })

  test("replaces control characters in the seller's description", async (t) => {
    const header = (await fetch(facts.seller.url)).headers.get('payment-required')!
    const required = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
    const server = createServer((request, response) => {
      const url = `http://${request.headers.host}${request.url}`
      const said = { ...required, resource: { ...required.resource, url, description: 'Free\u001b[2J\u202e money' } }
      response.writeHead(402, { 'payment-required': Buffer.from(JSON.stringify(said)).toString('base64') }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const { code, stderr } = await run([`http://127.0.0.1:${port}/weather`, ...options()], words())
    assert.equal(code, 2)
    assert.match(stderr, /^The seller describes it as "Free\\u001b\[2J\? money"\.\nThe request costs \$0\.01 /)
  })

  test('reports that nothing listens there', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    assert.deepEqual(await run([`http://127.0.0.1:${port}/weather`, '--yes', ...options()], words()), {
      ...{ code: 5, stdout: '' },
      stderr: `latchkey pay: nothing listens at http://127.0.0.1:${port}; start the server there, or correct the address\n`,
    })
  })

  test('prints a response that is free', async () => {
    const { code, stdout, stderr } = await run([`${facts.devnet.url}/health`, ...options()], words())
    assert.deepEqual([code, stdout], [0, 'null\n'])
    assert.match(stderr, /Nothing was paid \(response status: 200\)/)
    const missing = await run([`${facts.devnet.url}/nothing`, ...options()], words())
    assert.equal(missing.code, 3)
  })

  test('reports invalid usage', async () => {
    for (const args of [[], ['one', 'two'], ['ftp://x'], ['http://x', '--nonsense'], ['http://x', '-H', 'nonsense']]) {
      const { code, stdout, stderr } = await run(args, words())
      assert.deepEqual([code, stdout], [2, ''], args.join(' '))
      assert.match(stderr, /^latchkey pay: [^\n]+; see latchkey pay --help\n$/)
    }
    const keyless = await run([facts.seller.url], {})
    assert.match(keyless.stderr, /no key to pay with; give --wallet and --key/)
  })
})

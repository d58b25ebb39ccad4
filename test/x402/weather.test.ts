/**
 * Runs the example as in its README: a chain, a key daemon, a facilitator, a seller and a buyer, each in its own
 * process.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Mnemonic } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'
import { makeDataDir, removeDataDir, root, startDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { get, latchkeyCommand, type RunningDevnet, startDevnet } from '../support/devnet.test.helper.js'

const timeout = 60_000
const dollar = 31566704
const cent = 10_000
const seller = join(root, 'examples', 'weather', 'dist', 'seller.js')
const buyer = join(root, 'examples', 'weather', 'dist', 'buyer.js')

type Environment = { [name: string]: string }
type Process = { output: () => string; exited: Promise<number | null>; kill: () => void }

/** Passes on none of this process's settings. */
function start(args: readonly string[], environment: Environment): Process {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', ...environment } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { output: () => output, exited, kill: () => child.kill('SIGKILL') }
}

/** Returns the first group of the pattern, once it is printed. */
async function printed({ output, exited }: Process, pattern: RegExp): Promise<string> {
  let hasEnded = false
  void exited.then(() => {
    hasEnded = true
  })
  for (;;) {
    const match = pattern.exec(output())
    if (match !== null) return match[1]!
    if (hasEnded) throw new Error(`it ended without ${pattern}: ${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('weather for a cent', { timeout }, async (t) => {
  const running: (() => unknown)[] = []
  const scope = { after: (work: () => unknown) => void running.unshift(work) }
  let devnet: RunningDevnet
  let daemon: TestDaemon
  let network: Environment
  let payTo: string
  let shopUrl: string
  /** The address of a key that only the daemon has, with a dollar. */
  let address: string
  let wallet: Environment

  before(async () => {
    devnet = await startDevnet(scope)
    const { url, accounts } = devnet.facts
    network = { AVM_NETWORK: 'local', ALGOD_URL: url, USDC_ASSET_ID: String(dollar) }
    payTo = accounts[1]!.address

    const dir = makeDataDir()
    scope.after(() => removeDataDir(dir))
    daemon = await startDaemon({ dir })
    scope.after(() => daemon.kill())
    const kmd = await Kmd.connect({ dataDir: dir })
    await kmd.wallets.create({ name: 'purse', password: 'secret' })
    address = await (await kmd.unlock({ name: 'purse', password: 'secret' })).generateKey()
    const passwordFile = join(dir, 'password')
    writeFileSync(passwordFile, 'secret\n', { mode: 0o600 })
    wallet = { KMD_DATA_DIR: dir, KMD_WALLET: 'purse', KMD_PASSWORD_FILE: passwordFile, AVM_ADDRESS: address }
    await fund(address, 100 * cent)

    const options = ['--network', 'local', '--node', url, '--dollar', `${dollar}`, '--port', '0', '--json']
    const facilitator = start([latchkeyCommand, 'facilitator', ...options, '--store', join(dir, 'settlements.db')], {
      AVM_MNEMONIC: accounts[0]!.mnemonic,
    })
    scope.after(facilitator.kill)
    const facilitatorUrl = await printed(facilitator, /"url":"([^"]+)"/)

    const shop = start([seller], { ...network, AVM_ADDRESS: payTo, FACILITATOR_URL: facilitatorUrl, PORT: '0' })
    scope.after(shop.kill)
    // Uses the address that it listens on, because localhost can be ::1 only.
    shopUrl = await printed(shop, /Server listening at (http:\/\/127\.0\.0\.1:[0-9]+)\n/)
  })

  after(async () => {
    for (const end of running) await end()
  })

  async function fund(account: string, amount: number): Promise<void> {
    const body = JSON.stringify({ address: account, assetId: dollar, amount })
    const response = await fetch(`${devnet.facts.url}/devnet/fund`, { method: 'POST', body })
    assert.equal(response.status, 200, await response.text())
  }

  async function dollarsOf(account: string): Promise<number> {
    const { 'asset-holding': holding } = await get(`${devnet.facts.url}/v2/accounts/${account}/assets/${dollar}`)
    return (holding as { amount: number }).amount
  }

  /** Returns the buyer's output and exit code. */
  async function buy(environment: Environment): Promise<{ output: string; code: number | null }> {
    const bought = start([buyer], { ...network, RESOURCE_SERVER_URL: shopUrl, ...environment })
    const code = await bought.exited
    return { output: bought.output(), code }
  }

  await t.test('without a payment, responds with 402 and the offers in a header', async () => {
    const response = await fetch(`${shopUrl}/weather`)
    assert.equal(response.status, 402)
    const { accepts } = JSON.parse(Buffer.from(response.headers.get('payment-required')!, 'base64').toString())
    assert.deepEqual([accepts[0].amount, accepts[0].payTo, accepts[0].scheme], [String(cent), payTo, 'exact'])
  })

  for (const place of ['in the key daemon', 'in its environment']) {
    await t.test(`a buyer with its key ${place} gets the report, and the cent is on the ledger`, async () => {
      const [account] = devnet.facts.accounts.slice(2)
      const isInDaemon = place === 'in the key daemon'
      const payer = isInDaemon ? address : account!.address
      const [hadSeller, hadPayer] = [await dollarsOf(payTo), await dollarsOf(payer)]
      const { output, code } = await buy(isInDaemon ? wallet : { AVM_MNEMONIC: account!.mnemonic })
      assert.equal(code, 0, output)
      assert.match(output, new RegExp(`^AVM signer: ${payer}\nMaking request to: ${shopUrl}/weather\n`))
      const report = JSON.parse(/^Response body: (.*)$/m.exec(output)![1]!).report
      assert.deepEqual([report.weather, report.temperature], ['sunny', 70])
      assert.ok(Math.abs(Date.now() - Date.parse(report.timestamp)) < timeout)
      assert.match(output, /Payment response: \{\n {2}success: true,/)
      const transaction = /transaction: '([A-Z2-7]{52})'/.exec(output)![1]!
      const { txn, 'confirmed-round': round } = await get(`${devnet.facts.url}/v2/transactions/pending/${transaction}`)
      const { aamt, snd } = (txn as { txn: { aamt: number; snd: string } }).txn
      assert.deepEqual([aamt, snd, Number(round) > 0], [cent, payer, true])
      assert.deepEqual([await dollarsOf(payTo), await dollarsOf(payer)], [hadSeller + cent, hadPayer - cent])
    })
  }

  await t.test('a buyer without funds reports what is missing, and nothing is paid', async () => {
    const words = Mnemonic.encode(new Uint8Array(32).fill(9))
    const { output, code } = await buy({ AVM_MNEMONIC: words })
    assert.equal(code, 1)
    assert.match(output, /❌ not paid: [A-Z2-7]{58} holds no USDC: it is not opted in to asset 31566704; opt in/)
    const poor = /AVM signer: (\S+)/.exec(output)![1]!
    await fund(poor, cent - 1)
    assert.match((await buy({ AVM_MNEMONIC: words })).output, /has 0.009999 USDC and needs 0.01; send it 0.000001 USDC/)
  })

  await t.test('a buyer without a key names the missing setting', async () => {
    const { output, code } = await buy({})
    assert.deepEqual([code, output.trim()], [1, '❌ set AVM_MNEMONIC to the 25-word mnemonic of the paying account'])
  })

  await t.test('a buyer reports the status if no payment was settled', async () => {
    const { output, code } = await buy({ ...wallet, ENDPOINT_PATH: '/nothing' })
    assert.equal(code, 1)
    assert.match(output, /^No payment settled \(response status: 404\)$/m)
    const deaf = createServer((_, response) => void response.writeHead(500).end('broken')).listen(0, '127.0.0.1')
    await once(deaf, 'listening')
    const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`
    const other = await buy({ ...wallet, RESOURCE_SERVER_URL: url })
    deaf.close()
    assert.match(other.output, /Response body: broken\nNo payment settled \(response status: 500\)/)
  })

  const settings = { AVM_ADDRESS: 'the address to be paid', FACILITATOR_URL: 'the URL of the facilitator' }
  for (const [missing, meaning] of Object.entries(settings)) {
    await t.test(`a seller without ${missing} does not start, and names the setting`, async () => {
      const others: Environment = { AVM_ADDRESS: payTo, FACILITATOR_URL: 'http://127.0.0.1:1', PORT: '0' }
      for (const value of [undefined, '', ' ']) {
        const { [missing]: _, ...rest } = others
        const ended = start([seller], { ...network, ...rest, ...(value === undefined ? {} : { [missing]: value }) })
        const code = await ended.exited
        assert.deepEqual([code, ended.output()], [1, `❌ not set in the environment: ${missing} (${meaning})\n`])
      }
    })
  }
})

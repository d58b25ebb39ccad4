/** Tests how `latchkey facilitator` stops: it is immediately not ready, and loses nothing that it has accepted. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { Buyer, Chain, Signer } from '@latchkey/x402/client'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { type RunningServer, startHostedLatchkey } from '../support/latchkey.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

const dollar = 31566704n

type Running = RunningServer & { url: string }

async function start(t: TestContext, devnet: Devnet, args: string[]): Promise<Running> {
  const chain = ['--network', 'local', '--node', devnet.url, '--dollar', `${dollar}`]
  const given = ['facilitator', '--port', '0', '--json', ...chain, ...args]
  const env = { AVM_MNEMONIC: devnet.accounts[4]!.mnemonic, AVM_MNEMONIC_2: devnet.accounts[3]!.mnemonic }
  const home = temporaryDirectory(t)
  const running = startHostedLatchkey({ after: (work) => atEnd(t, work) }, given, { home, env })
  await until('its first line', () => running.stdout().includes('\n'))
  const { url } = JSON.parse(running.stdout()) as { url: string }
  return { ...running, url }
}

/** The test makes the blocks, so a settlement waits until it makes one. */
async function open(t: TestContext, args: string[]) {
  const devnet = await Devnet.start({ port: 0, blocks: 'manual' })
  atEnd(t, () => devnet.stop())
  const facilitator = await start(t, devnet, args)
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const seller = devnet.accounts[1]!.address
  const buyer = new Buyer({ signer: Signer.fromMnemonic(devnet.accounts[0]!.mnemonic), chains: chain })
  const requirements = {
    scheme: 'exact',
    network: chain.caip2 as `${string}:${string}`,
    amount: '1000',
    asset: `${dollar}`,
    payTo: seller,
    maxTimeoutSeconds: 60,
    extra: { feePayer: devnet.accounts[4]!.address },
  }
  const resource = { url: 'http://shop.example/weather' }
  const { payload } = await buyer.pay({ x402Version: 2, resource, accepts: [requirements] } as never)
  const body = JSON.stringify({ x402Version: 2, paymentPayload: payload, paymentRequirements: requirements })
  const post = (path: string): Promise<Response> =>
    fetch(`${facilitator.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const isReady = async (): Promise<number> => (await fetch(`${facilitator.url}/readyz`)).status
  const hasSubmitted = async (): Promise<boolean> => {
    const response = await fetch(`${devnet.url}/v2/transactions/pending`)
    return ((await response.json()) as { 'total-transactions': number })['total-transactions'] > 0
  }
  return { devnet, facilitator, post, isReady, hasSubmitted }
}

suite('latchkey facilitator on SIGTERM', { concurrency: 2, timeout: 300_000 }, () => {
  test('is immediately not ready, accepts payments during the delay, and finishes settlements that wait for a block', async (t) => {
    const { devnet, facilitator, post, isReady, hasSubmitted } = await open(t, ['--drain-delay', '2'])
    assert.equal(await isReady(), 200)
    facilitator.kill('SIGTERM')
    await until('not ready', async () => (await isReady()) === 503)
    const late = await post('/verify')
    assert.equal(late.headers.get('connection'), 'close', 'the next connection is to go elsewhere')
    assert.equal(((await late.json()) as { isValid: boolean }).isValid, true)
    assert.equal((await fetch(`${facilitator.url}/livez`)).status, 200)
    const settling = post('/settle')
    await until('the payment at the node', hasSubmitted)
    await until('no more connections', () =>
      fetch(`${facilitator.url}/livez`).then(
        () => false,
        () => true,
      ),
    )
    devnet.mine()
    const { success } = (await (await settling).json()) as { success: boolean }
    assert.equal(success, true)
    assert.equal(await facilitator.exited, 0)
    assert.match(facilitator.stderr(), /stopping: no longer ready, accepting payments for another 2 s/)
  })

  test('answers calls that would wait too long with settlement_pending, and exits with 0', async (t) => {
    const { facilitator, post, hasSubmitted } = await open(t, ['--drain-timeout', '2'])
    const settling = post('/settle')
    await until('the payment at the node', hasSubmitted)
    facilitator.kill('SIGTERM')
    const { errorReason } = (await (await settling).json()) as { errorReason: string }
    assert.equal(errorReason, 'settlement_pending')
    assert.equal(await facilitator.exited, 0)
  })

  test('a second signal ends it immediately, with 130', async (t) => {
    const { facilitator, isReady } = await open(t, ['--drain-delay', '3000', '--drain-timeout', '3600'])
    facilitator.kill('SIGTERM')
    await until('not ready', async () => (await isReady()) === 503)
    facilitator.kill('SIGTERM')
    assert.equal(await facilitator.exited, 130)
  })

  test('does not wait after Ctrl-C, and refuses a delay that leaves no time', async (t) => {
    const { facilitator } = await open(t, ['--drain-delay', '3000', '--drain-timeout', '3600'])
    facilitator.kill('SIGINT')
    assert.equal(await facilitator.exited, 0)
    const args = ['facilitator', '--network', 'local', '--node', 'http://127.0.0.1:9', '--drain-delay', '25']
    const child = spawn(process.execPath, [latchkeyCommand, ...args], { env: { PATH: process.env['PATH'] ?? '' } })
    const [code] = (await once(child, 'close')) as [number | null]
    assert.equal(code, 2)
  })
})

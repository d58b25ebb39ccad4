/** Runs the seller of examples/postgres twice on one database: a payment opens one request on one of them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { Buyer, payingFetch, paymentOf, Signer } from '@latchkey/x402/client'
import { openWorld } from '../docs/Provided.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { PostgresServer } from '../support/postgres.test.helper.js'

test('two sellers share the claims of examples/postgres', { timeout: 240_000 }, async (t) => {
  const world = openWorld(t)
  const { url: ALGOD_URL, accounts } = await world.devnet()
  const postgres = await PostgresServer.start(t)
  const env = {
    PATH: process.env['PATH'],
    ...{ AVM_NETWORK: 'local', ALGOD_URL, USDC_ASSET_ID: '31566704', PORT: '0' },
    AVM_ADDRESS: accounts[1]!.address,
    FACILITATOR_URL: await world.facilitatorUrl(),
    DATABASE_URL: postgres.url(),
  }
  const start = (): Promise<string> => {
    const child = spawn(process.execPath, [join(root, 'examples', 'postgres', 'seller.js')], { env })
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        output += String(piece)
      })
    }
    return until(`a seller; it printed ${output}`, () => /Listening at (\S+)\n/.exec(output)?.[1])
  }
  const [first, second] = [await start(), await start()]
  const signer = Signer.fromMnemonic(accounts[2]!.mnemonic)
  let payment = ''
  const spying: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    payment = request.headers.get('payment-signature') ?? payment
    return fetch(request)
  }
  const response = await payingFetch(new Buyer({ signer, chains: await world.chain() }), { fetch: spying })(
    `${first}/weather`,
  )
  assert.deepEqual(await response.json(), { weather: 'sunny' })
  assert.equal(paymentOf(response)?.state, 'settled')
  assert.notEqual(payment, '')
  const again = await fetch(`${second}/weather`, { headers: { 'PAYMENT-SIGNATURE': payment } })
  assert.equal(again.status, 402, await again.text())
  assert.equal((await fetch(`${second}/nothing`)).status, 404)
})

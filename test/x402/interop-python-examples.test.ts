/** Runs the buyer and the seller of examples/python with each other, as their README says. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler, Facilitator, Signer } from '@latchkey/x402/facilitator'
import * as algosdk from 'algosdk'
import { loadScript } from '../docs/Reference.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { openTrade, possessions } from './trade.test.helper.js'

type Obtained = { readonly python?: string; readonly problem?: string }
const { obtainPython } = await loadScript<{ obtainPython: (name: string) => Obtained }>('obtain/python.mjs')
const { python = '', problem } = obtainPython('requirements-official.txt')
const folder = join(root, 'examples', 'python')

test('the buyer in Python pays the seller in Python', { skip: problem ?? false, timeout: 240_000 }, async (t) => {
  // The examples are on TestNet, and the devnet has its genesis hash.
  const trade = await openTrade(t, { genesisHash: Network.testnet.genesisHash })
  const feePayer = Signer.fromMnemonic(algosdk.secretKeyToMnemonic(trade.sponsor.sk))
  const facilitator = new Facilitator({ chains: [trade.chain], feePayer })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port: facilitatorPort } = await server.listen('127.0.0.1', 0)
  t.after(async () => {
    await server.stop()
    await facilitator.stop()
  })
  const port = await freePort()
  const common = { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1' }
  const seller = spawn(python, [join(folder, 'seller.py')], {
    env: {
      ...common,
      PORT: String(port),
      AVM_ADDRESS: String(trade.seller.addr),
      FACILITATOR_URL: `http://127.0.0.1:${facilitatorPort}`,
    },
    stdio: 'ignore',
  })
  t.after(() => seller.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/weather`
  await until('the seller', async () => (await fetch(url).catch(() => undefined))?.status === 402)
  const before = await possessions(trade)
  const env = { ...common, ALGOD_URL: trade.devnet.url, AVM_MNEMONIC: algosdk.secretKeyToMnemonic(trade.buyer.sk) }
  const { stdout } = await promisify(execFile)(python, [join(folder, 'buyer.py'), url], { env, timeout: 60_000 })
  assert.equal(stdout, '200 {"weather":"sunny"}\n')
  assert.equal((await possessions(trade)).seller[1], before.seller[1]! + 10_000n)
})

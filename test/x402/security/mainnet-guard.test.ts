/** A node that is called local but belongs to MainNet: the commands that spend check its genesis, not its name. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { atEnd, temporaryDirectory, until } from '../../process/commands.test.helper.js'
import { latchkeyCommand } from '../../support/devnet.test.helper.js'
import { latchkey } from '../../support/latchkey.test.helper.js'

const message = /the node belongs to MainNet, where money is real, not to a local network; give --network mainnet/

async function startNode(t: TestContext, genesisHash: string): Promise<Devnet> {
  const devnet = await Devnet.start({ port: 0, genesisHash })
  atEnd(t, () => devnet.stop())
  return devnet
}

/** Starts a seller that asks for no payment, and counts its requests. */
async function startSeller(t: TestContext): Promise<{ url: string; requests: () => number }> {
  let requests = 0
  const server = createServer((_, response) => {
    requests++
    response.writeHead(402).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests }
}

suite('the MainNet guard', { timeout: 240_000 }, () => {
  test('M pay and facilitator refuse a local network whose node belongs to MainNet', async (t) => {
    const devnet = await startNode(t, Network.mainnet.genesisHash)
    const seller = await startSeller(t)
    const home = temporaryDirectory(t)
    const own = { AVM_MNEMONIC: devnet.accounts[2]!.mnemonic }
    const byOption = ['--network', 'local', '--node', devnet.url]
    const byEnvironment = { ...own, AVM_NETWORK: 'local', ALGOD_URL: devnet.url, USDC_ASSET_ID: '31566704' }
    const store = ['--port', '0', '--store', join(home, 'store.db')]
    for (const [args, env] of [
      [['pay', seller.url, '--yes', ...byOption], own],
      [['pay', seller.url, '--yes'], byEnvironment],
      [['facilitator', ...store, ...byOption], own],
      [['facilitator', ...store], byEnvironment],
    ] as const) {
      const { code, stdout, stderr } = await latchkey(args, { env, home })
      assert.equal(code, 2, `${args.join(' ')}: ${stdout}${stderr}`)
      assert.match(stderr, message)
      assert.equal(stdout, '')
    }
    assert.equal(seller.requests(), 0)
  })

  test('M with mainnet in any form, the facilitator requires limits', async (t) => {
    const devnet = await startNode(t, Network.mainnet.genesisHash)
    const home = temporaryDirectory(t)
    const { caip2, genesisHash } = Network.mainnet
    for (const network of ['mainnet', caip2, `algorand:${genesisHash}`]) {
      const { code, stderr } = await latchkey(
        ['facilitator', '--port', '0', '--store', join(home, 'store.db'), '--network', network, '--node', devnet.url],
        { env: { AVM_MNEMONIC: devnet.accounts[0]!.mnemonic }, home },
      )
      assert.equal(code, 2, stderr)
      assert.match(stderr, /on MainNet, sellers and fees must be limited/)
    }
  })

  test('M commands that only read treat the node by its actual network', async (t) => {
    const devnet = await startNode(t, Network.mainnet.genesisHash)
    const home = temporaryDirectory(t)
    const { stdout } = await latchkey(['doctor', '--network', 'local', '--node', devnet.url], { home })
    assert.ok(stdout.includes('a node of MainNet responds'), stdout)
  })

  test('M a local node of TestNet counts as TestNet', async (t) => {
    const devnet = await startNode(t, Network.testnet.genesisHash)
    const store = join(temporaryDirectory(t), 'store.db')
    const options = ['--json', '--port', '0', '--store', store, '--network', 'local', '--node', devnet.url]
    const child = spawn(process.execPath, [latchkeyCommand, 'facilitator', ...options], {
      env: { PATH: process.env['PATH'], AVM_MNEMONIC: devnet.accounts[0]!.mnemonic },
    })
    atEnd(t, async () => {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'close')
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await until('the facilitator', () => output.endsWith('\n'))
    assert.equal((JSON.parse(output) as { network: string }).network, Network.testnet.caip2)
  })
})

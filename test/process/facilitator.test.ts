/** Tests the command `latchkey facilitator`: its output, its options and its exit codes. */
import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import {
  hostedLatchkey,
  type Outcome,
  type RunningServer,
  startHostedLatchkey,
} from '../support/latchkey.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

type Environment = { [name: string]: string }

function run(args: string[], env: Environment = {}): Promise<Outcome> {
  return hostedLatchkey(['facilitator', ...args], { env })
}

async function startDevnet(t: TestContext): Promise<Devnet> {
  const devnet = await Devnet.start({ port: 0 })
  atEnd(t, () => devnet.stop())
  return devnet
}

async function start(t: TestContext, devnet: Devnet, args: string[], env: Environment = {}): Promise<RunningServer> {
  const chain = ['--network', 'local', '--node', devnet.url, '--dollar', '31566704']
  const given = ['facilitator', '--port', '0', ...chain, ...args]
  const home = temporaryDirectory(t)
  const running = startHostedLatchkey({ after: (work) => atEnd(t, work) }, given, { home, env })
  const end = args.includes('--json') ? '\n' : '\n\n'
  await until('the first block', () => running.stdout().endsWith(end))
  return running
}

suite('latchkey facilitator', { concurrency: 2 }, () => {
  test('accepts several nodes, and a quorum of that many different ones', async (t) => {
    const devnet = await startDevnet(t)
    const again = devnet.url.replace('127.0.0.1', 'localhost')
    const refused = await run(['--network', 'local', '--node', devnet.url, '--node', devnet.url, '--quorum', '2'])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /--quorum 2 requires 2 different nodes, but 1 are given/)
    const { kill, exited, stdout } = await start(t, devnet, ['--node', again, '--quorum', '2', '--json'])
    const { url } = JSON.parse(stdout()) as { url: string }
    const metrics = await (await fetch(`${url}/metrics`)).text()
    for (const node of [devnet.url, again]) {
      const { host } = new URL(node)
      assert.match(metrics, new RegExp(`latchkey_facilitator_node_up\\{network="[^"]+",node="${host}"\\} 1`))
    }
    kill('SIGTERM')
    assert.equal(await exited, 0)
  })

  test('prints its URL and the fee payer, and stops on SIGTERM', async (t) => {
    const devnet = await startDevnet(t)
    const [sponsor] = devnet.accounts
    const running = await start(t, devnet, [], { AVM_MNEMONIC: sponsor!.mnemonic })
    assert.match(running.stdout(), /^Latchkey facilitator [0-9.]+\n/)
    assert.ok(running.stdout().includes(`paid by ${sponsor!.address}`))
    const [, url] = /Address +(http:\S+)/.exec(running.stdout())!
    const supported = (await (await fetch(`${url}/supported`)).json()) as { kinds: { extra: object }[] }
    assert.deepEqual(supported.kinds[0]!.extra, { feePayer: sponsor!.address })
    assert.equal((await fetch(`${url}/health`)).status, 200)
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^# HELP /)
    running.kill('SIGTERM')
    assert.equal(await running.exited, 0)
  })

  test('names a port that is in use, and an address that this machine does not have', async (t) => {
    const devnet = await startDevnet(t)
    const { port } = new URL(devnet.url)
    const home = { HOME: temporaryDirectory(t) }
    const chain = ['--network', 'local', '--dollar', '31566704']
    assert.deepEqual(await run([...chain, '--node', devnet.url, '--port', port], home), {
      ...{ code: 3, stdout: '' },
      stderr: `latchkey facilitator: port ${port} is in use; give another with --port, or 0 for a free one\n`,
    })
    const elsewhere = await run([...chain, '--node', devnet.url, '--host', '192.0.2.1'], home)
    assert.equal(
      elsewhere.stderr,
      'latchkey facilitator: this machine has no address 192.0.2.1; give another with --host\n',
    )
  })

  test('accepts a key in base64, and runs without one', async (t) => {
    const devnet = await startDevnet(t)
    const [sponsor] = devnet.accounts
    const withKey = await start(t, devnet, ['--json'], { AVM_PRIVATE_KEY: sponsor!.secretKey })
    assert.equal(JSON.parse(withKey.stdout()).feePayer, sponsor!.address)
    const without = await start(t, devnet, ['--json'], {})
    assert.equal(JSON.parse(without.stdout()).feePayer, null)
  })

  test('lists networks by the canonical id alone on request', async (t) => {
    const { kill, exited, stdout } = await start(t, await startDevnet(t), ['--json', '--network-ids', 'canonical'])
    const { url, network } = JSON.parse(stdout()) as { url: string; network: string }
    const { kinds } = (await (await fetch(`${url}/supported`)).json()) as { kinds: { network: string }[] }
    assert.deepEqual([...new Set(kinds.map((kind) => kind.network))], [network])
    kill('SIGTERM')
    assert.equal(await exited, 0)
    const wrong = await run(['--network-ids', 'short'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /--network-ids is neither both nor canonical/)
  })

  test('creates its database readable by the owner only', async (t) => {
    const devnet = await startDevnet(t)
    const store = join(temporaryDirectory(t), 'settlements.db')
    await start(t, devnet, ['--json', '--store', store], {})
    assert.equal(statSync(store).mode & 0o777, 0o600)
  })

  test('warns about a fee account without funds', async (t) => {
    const devnet = await startDevnet(t)
    const broke = {
      AVM_PRIVATE_KEY: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGKiOPddAnxlf1S2y08ul1yymcJvx2UEhvzdIgBtA9vXA==',
    }
    const running = await start(t, devnet, ['--json'], broke)
    await until('the warning', () => /warning: the fee account RKEOHXLU\S+ has 0 ALGO/.test(running.stderr()))
    const { url } = JSON.parse(running.stdout()) as { url: string }
    assert.equal((await fetch(`${url}/health`)).status, 503)
  })

  test('requires an API key if any are configured', async (t) => {
    const devnet = await startDevnet(t)
    const file = join(temporaryDirectory(t), 'keys')
    writeFileSync(file, 'one\ntwo\n')
    const running = await start(t, devnet, ['--json', '--api-keys-file', file, '--total-fee-budget', '1000000'])
    const { url } = JSON.parse(running.stdout()) as { url: string }
    const body = JSON.stringify({ paymentPayload: {}, paymentRequirements: {} })
    assert.equal((await fetch(`${url}/verify`, { method: 'POST', body })).status, 401)
    const headers = { Authorization: 'Bearer two' }
    assert.notEqual((await fetch(`${url}/verify`, { method: 'POST', body, headers })).status, 401)
  })

  test('limits callers by the address that a proxy reports, and names a store that it cannot use', async (t) => {
    const devnet = await startDevnet(t)
    const running = await start(t, devnet, ['--json', '--caller-rate', '2', '--client-ip-header', 'X-Forwarded-For'])
    const { url } = JSON.parse(running.stdout()) as { url: string }
    const ask = async (address: string): Promise<unknown> => {
      const body = JSON.stringify({ paymentPayload: { x402Version: 1 }, paymentRequirements: {} })
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
      const response = await fetch(`${url}/verify`, { method: 'POST', body, headers })
      return ((await response.json()) as { invalidReason?: string }).invalidReason
    }
    // A client can send the first elements of the header; the last one comes from the proxy.
    const reasons = [await ask('9.9.9.9'), await ask('1.1.1.1, 9.9.9.9'), await ask('2.2.2.2, 9.9.9.9')]
    assert.deepEqual([reasons[1], reasons[2]], ['invalid_exact_avm_invalid_version', 'facilitator_policy_refused'])
    assert.equal(await ask('8.8.8.8'), 'invalid_exact_avm_invalid_version')
    const store = join(temporaryDirectory(t), 'notes.txt')
    writeFileSync(store, 'these are notes, and not a database of any kind. '.repeat(20))
    const { code, stderr } = await run(['--network', 'local', '--node', devnet.url, '--store', store])
    assert.notEqual(code, 0)
    assert.ok(stderr.includes(`the store ${store}: it is not a database`), stderr)
  })

  test('refuses mainnet without limits', async () => {
    for (const name of ['mainnet', Network.mainnet.caip2, `algorand:${Network.mainnet.genesisHash}`]) {
      const { code, stderr } = await run(['--network', name])
      assert.equal(code, 2, name)
      assert.match(stderr, /^latchkey facilitator: on MainNet, sellers and fees must be limited; give --pay-to/)
    }
  })

  test('reports invalid usage', async () => {
    for (const args of [
      ['--port', 'x'],
      ['--port', '70000'],
      ['--dollar', 'USDC'],
      ['--rate', '-1'],
      ['--caller-rate', 'x'],
      ['--min-amount', '0.5'],
      ['--client-ip-header', 'X Real'],
      ['--nonsense'],
      ['extra'],
    ]) {
      const { code, stdout, stderr } = await run(['--network', 'local', '--node', 'http://127.0.0.1:9', ...args])
      assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
      assert.equal(stdout, '')
    }
    const kmd = await run(['--network', 'testnet'], { KMD_WALLET: 'fees' })
    assert.equal(kmd.code, 2)
    assert.match(kmd.stderr, /--wallet needs --key: the address of the key in fees/)
    const help = await run(['--help'])
    assert.equal(help.code, 0)
    for (const word of ['AVM_MNEMONIC', '--fee-budget', 'Example', 'Exit codes']) assert.ok(help.stdout.includes(word))
  })

  test('reports a node that is unreachable or of another network', async (t) => {
    const unreachable = await run(['--network', 'local', '--node', 'http://127.0.0.1:9'])
    assert.equal(unreachable.code, 3)
    assert.match(unreachable.stderr, /the node at http:\/\/127\.0\.0\.1:9 /)
    const devnet = await startDevnet(t)
    const id = 'algorand:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    const other = await run(['--network', id, '--node', devnet.url])
    assert.equal(other.code, 3)
    assert.match(
      other.stderr,
      /the node belongs to the local network \(algorand:\S+\), not to the local network \(algorand:AAAA/,
    )
  })
})

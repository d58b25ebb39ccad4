/** Tests the command `latchkey devnet`: its output, its options, and how it stops. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import algosdk from 'algosdk'
import {
  type DevnetFacts,
  get,
  latchkeyCommand,
  signPayment,
  startHostedDevnet,
  submit,
} from '../support/devnet.test.helper.js'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { temporaryDirectory, until } from './commands.test.helper.js'

const run = (...args: string[]): Promise<Outcome> => hostedLatchkey(['devnet', ...args])

const sh = (line: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('sh', ['-c', line], { timeout: 60_000 }, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })

async function pay(facts: DevnetFacts, microAlgos: bigint, note = 'a payment'): Promise<string> {
  const round = BigInt((await get(`${facts.url}/v2/status`))['last-round'] as number)
  const [from, to] = [facts.accounts[0]!.mnemonic, facts.accounts[1]!.address]
  return submit(facts.url, signPayment(facts, { from, to, microAlgos, round, note }))
}

async function balance({ url, accounts }: DevnetFacts, index: number): Promise<number> {
  return (await get(`${url}/v2/accounts/${accounts[index]!.address}`))['amount'] as number
}

test('latchkey devnet prints a block whose commands work', { skip: missingProgram('curl') }, async (t) => {
  const child = spawn(process.execPath, [latchkeyCommand, 'devnet', '--port', '0'])
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await until('the block', () => text.endsWith('\n\n'))
  assert.match(text, /^Latchkey devnet [0-9.]+, an Algorand ledger for development\n/)
  assert.match(text, /for development only: these keys are public/)
  const lines = text.split('\n').filter((line) => line.startsWith('  curl '))
  assert.equal(lines.length, 2)
  assert.equal(JSON.parse(await sh(lines[0]!))['last-round'], 0)
  const funded = JSON.parse(await sh(lines[1]!))
  assert.equal(funded.amount, 1_000_010_000_000)
  assert.deepEqual(
    funded.assets.map((asset: { amount: number }) => asset.amount),
    [1_000_005_000_000, 1_000_005_000_000],
  )
  const exports = text.split('\n').filter((line) => line.startsWith('  export '))
  const echoed = await sh(`${exports.join('\n')}\necho "$ALGOD_SERVER:$ALGOD_PORT"; echo "$DISPENSER_MNEMONIC" | wc -w`)
  const [address, words] = echoed.split('\n')
  assert.equal((await fetch(`${address}/health`)).status, 200)
  assert.equal(words!.trim(), '25')
  child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
})

test('A15 latchkey devnet --genesis-hash reports the hash, and warns that signed transactions can be valid elsewhere', async (t) => {
  const hash = 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
  const given = await startHostedDevnet(t, ['--genesis-hash', hash])
  assert.deepEqual([given.facts.genesisHash, given.facts.genesisId], [hash, 'testnet-v1.0'])
  await until('the warnings', () => /never sign .*\n/.test(given.stderr()))
  assert.match(
    given.stderr(),
    /warning: .*genesis hash of testnet: transactions signed for it can also be valid there\n/,
  )
  assert.match(given.stderr(), /warning: never sign here with a key that holds funds on testnet\n/)
  const named = await startHostedDevnet(t, ['--genesis-id', 'testnet-v1.0'])
  assert.equal(named.facts.genesisId, 'testnet-v1.0')
  assert.notEqual(named.facts.genesisHash, hash)
  assert.equal(named.stderr(), '', 'its hash is its own')
  const { code, stderr } = await run('--port', '0', '--genesis-hash', 'testnet')
  assert.notEqual(code, 0)
  assert.match(stderr, /genesisHash must be 32 bytes in base64/)
  const dev = spawn(process.execPath, [latchkeyCommand, 'dev', '--genesis-hash', hash], { stdio: 'ignore' })
  t.after(() => dev.kill('SIGKILL'))
  assert.deepEqual(await once(dev, 'close'), [2, null], 'latchkey dev has no such option')
})

test('latchkey devnet has the same accounts and network on every start', async (t) => {
  const [one, two] = await Promise.all([startHostedDevnet(t), startHostedDevnet(t, ['--accounts', '5'])])
  assert.deepEqual(one.facts.accounts, two.facts.accounts)
  assert.equal(one.facts.genesisHash, two.facts.genesisHash)
  assert.equal(one.facts.accounts.length, 5)
  const three = await startHostedDevnet(t, ['-a', '2'])
  assert.deepEqual(three.facts.accounts, one.facts.accounts.slice(0, 2))
  assert.notEqual(three.facts.genesisHash, one.facts.genesisHash)
})

test('latchkey devnet requires its token', async (t) => {
  const { facts } = await startHostedDevnet(t, ['--token', 'sesame'])
  assert.equal(facts.token, 'sesame')
  assert.equal((await fetch(`${facts.url}/v2/status`)).status, 401)
  const headers = { 'X-Algo-API-Token': 'sesame' }
  assert.equal((await fetch(`${facts.url}/v2/status`, { headers })).status, 200)
})

test('latchkey devnet restores the state file, which only one process at a time can use', async (t) => {
  const stateFile = join(temporaryDirectory(t), 'ledger.log')
  const first = await startHostedDevnet(t, ['--state', stateFile])
  const transactionId = await pay(first.facts, 5n)
  const state = await get(`${first.facts.url}/devnet/state`)
  const second = await run('--port', '0', '--state', stateFile)
  assert.equal(second.code, 3)
  assert.match(second.stderr, /ledger\.log/)
  first.child.kill('SIGTERM')
  assert.equal(await first.exited, 0)
  assert.equal(statSync(stateFile).mode & 0o777, 0o600)
  const third = await startHostedDevnet(t, ['--state', stateFile])
  assert.deepEqual(await get(`${third.facts.url}/devnet/state`), state)
  assert.equal(await balance(third.facts, 1), 1_000_000_000_005)
  const found = await get(`${third.facts.url}/v2/transactions/pending/${transactionId}`)
  assert.equal(found['confirmed-round'], 1)
})

test('latchkey devnet rejects a file that is not a state file, and keeps it', async (t) => {
  const stateFile = join(temporaryDirectory(t), 'notes.txt')
  writeFileSync(stateFile, 'things to do\n'.repeat(100))
  const { code, stderr } = await run('--port', '0', '--state', stateFile)
  assert.equal(code, 3)
  assert.match(stderr, /notes\.txt/)
  assert.equal(readFileSync(stateFile, 'utf8'), 'things to do\n'.repeat(100))
})

test('latchkey devnet writes a dump on exit, and loads one on start', async (t) => {
  const dump = join(temporaryDirectory(t), 'dump.json')
  const first = await startHostedDevnet(t, ['--dump', dump])
  await pay(first.facts, 7n)
  const state = await get(`${first.facts.url}/devnet/state`)
  first.child.kill('SIGTERM')
  assert.equal(await first.exited, 0)
  assert.ok(existsSync(dump))
  const second = await startHostedDevnet(t, ['--load', dump])
  assert.deepEqual(await get(`${second.facts.url}/devnet/state`), state)
  writeFileSync(dump, '{"format":"something else"}')
  const { code, stderr } = await run('--port', '0', '--load', dump)
  assert.equal(code, 3)
  assert.match(stderr, /dump\.json could not be loaded: /)
})

/** Returns the hash of a genesis file, with a third-party encoder. */
function hashOf(genesis: string): string {
  const document = algosdk.parseJSON(genesis, { intDecoding: algosdk.IntDecoding.BIGINT }) as {
    alloc: { state: { [name: string]: unknown } }[]
  }
  for (const { state } of document.alloc) {
    for (const name of ['sel', 'stprf', 'vote']) {
      if (name in state) state[name] = Buffer.from(state[name] as string, 'base64')
    }
  }
  return createHash('sha512-256').update('GE').update(algosdk.msgpackRawEncode(document)).digest('base64')
}

test("latchkey devnet --goal-dir writes the files that goal reads from a node's data directory", async (t) => {
  const directory = join(temporaryDirectory(t), 'new', 'data')
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8')
  const { facts, child, exited } = await startHostedDevnet(t, ['--goal-dir', directory, '--accounts', '2'])
  const modeOf = (name: string): number => statSync(join(directory, name)).mode & 0o777
  assert.deepEqual(readdirSync(directory).sort(), ['algod.net', 'algod.token', 'dockernet-v1', 'genesis.json'])
  assert.deepEqual(readdirSync(join(directory, facts.genesisId)), [])
  assert.deepEqual([modeOf('.'), modeOf('algod.token'), modeOf(facts.genesisId)], [0o700, 0o600, 0o700])
  assert.match(read('algod.token'), /^[!-~]{64,256}$/)
  const headers = { 'X-Algo-API-Token': read('algod.token') }
  assert.equal((await fetch(`http://${read('algod.net').split('\n')[0]}/v2/status`, { headers })).status, 200)
  assert.equal(hashOf(read('genesis.json')), facts.genesisHash)
  const { network, id, proto } = JSON.parse(read('genesis.json')) as { [name: string]: string }
  assert.equal(`${network}-${id}`, facts.genesisId)
  const parameters = await get(`${facts.url}/v2/transactions/params`)
  assert.equal(proto, parameters['consensus-version'])
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
  assert.equal(existsSync(join(directory, 'algod.net')), false, 'as after a node has stopped')
  const token = 'b'.repeat(64)
  const again = await startHostedDevnet(t, ['--goal-dir', directory, '--token', token])
  assert.equal(read('algod.token'), token)
  assert.equal(hashOf(read('genesis.json')), again.facts.genesisHash, 'other accounts, another genesis')
})

test("latchkey devnet --goal-dir leaves another node's directory alone", async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'genesis.json'), '{"id":"v1.0","network":"mainnet"}')
  const { code, stdout, stderr } = await run('--port', '0', '--goal-dir', directory)
  assert.deepEqual([code, stdout], [3, ''])
  assert.match(stderr, /is another node's data directory; give a new directory/)
  assert.deepEqual(readdirSync(directory), ['genesis.json'])
  assert.equal(readFileSync(join(directory, 'genesis.json'), 'utf8'), '{"id":"v1.0","network":"mainnet"}')
  const taken = await run('--port', '0', '--goal-dir', join(directory, 'genesis.json'))
  assert.equal(taken.code, 3)
  assert.match(taken.stderr, /genesis\.json could not be written: /)
  const weak = await run('--port', '0', '--goal-dir', join(directory, 'new'), '--token', 'sesame')
  assert.equal(weak.code, 2)
  assert.match(weak.stderr, /^latchkey devnet: --goal-dir requires a --token of 64 to 256 characters/)
})

test('latchkey devnet --verbose prints every transaction', async (t) => {
  const devnet = await startHostedDevnet(t, ['--verbose', '--log-level', 'warning'])
  await pay(devnet.facts, 1_500_000n)
  await assert.rejects(pay(devnet.facts, 10n ** 18n))
  await until('two lines', () => devnet.stderr().split('\n').length >= 3)
  const [confirmed, rejected] = devnet.stderr().split('\n')
  assert.match(confirmed!, /^round 1 {2}[A-Z2-7]{52} {2}5H5BPBFP… pays 1\.5 ALGO to KNLHV3RI… \(fee 0\.001 ALGO\)$/)
  assert.match(rejected!, /^rejected {2}5H5BPBFP… pays 1,000,000,000,000 ALGO to KNLHV3RI… .*overspend/)
})

test('latchkey devnet makes blocks at an interval, or on request', async (t) => {
  const timed = await startHostedDevnet(t, ['--block-time', '50'])
  await until('some blocks', async () => ((await get(`${timed.facts.url}/v2/status`))['last-round'] as number) > 3)
  const manual = await startHostedDevnet(t, ['--no-mining'])
  const transactionId = await pay(manual.facts, 1n)
  const pending = `${manual.facts.url}/v2/transactions/pending/${transactionId}`
  assert.equal((await get(pending))['confirmed-round'], undefined)
  assert.equal((await fetch(`${manual.facts.url}/devnet/mine`, { method: 'POST' })).status, 200)
  assert.equal((await get(pending))['confirmed-round'], 1)
})

test('latchkey devnet keeps the given number of blocks, or all', async (t) => {
  const configOf = async (args: string[]) => {
    const { facts } = await startHostedDevnet(t, args)
    return get(`${facts.url}/debug/settings/config`)
  }
  assert.equal((await configOf(['--history', '5']))['Archival'], false)
  assert.equal((await configOf(['--archival']))['Archival'], true)
})

test('latchkey devnet reports usage errors', async () => {
  const wrong = [
    ['--port', 'x'],
    ['--port', '65536'],
    ['--accounts', '101'],
    ['--history', '0'],
    ['--history', '5', '--archival'],
    ['--block-time', '0'],
    ['--block-time', '5', '--no-mining'],
    ['--nonsense'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 2, args.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /^latchkey devnet: [^\n]+; see latchkey devnet --help\n$/)
  }
  const unknown = await run('extra')
  assert.deepEqual([unknown.code, unknown.stdout], [2, ''])
  assert.match(unknown.stderr, /^latchkey: unknown command "devnet extra"; [^\n]+\n$/)
  const { code, stdout } = await run('--help')
  assert.equal(code, 0)
  for (const word of ['--state', '--block-time', 'Examples', 'Exit codes']) assert.ok(stdout.includes(word), word)
})

test('latchkey devnet reports a port that is in use', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { code, stderr } = await run('--port', String(port))
  assert.equal(code, 3)
  assert.equal(stderr, `latchkey devnet: port ${port} is in use; give another with --port, or 0 for a free one\n`)
  const second = await run('--port', '0', '--indexer-port', String(port))
  assert.deepEqual(
    [second.code, second.stderr],
    [3, `latchkey devnet: port ${port} is in use; give another with --indexer-port, or 0 for a free one\n`],
  )
})

test('latchkey devnet serves the indexer API on a separate port', async (t) => {
  const { facts } = await startHostedDevnet(t, ['--indexer-port', '0'])
  const { INDEXER_SERVER: server, INDEXER_PORT: port, INDEXER_URL: url } = facts.environment
  assert.equal(url, facts.indexerUrl)
  assert.equal(url, `${server}:${port}`)
  const health = (await (await fetch(`${url}/health`)).json()) as { round: number }
  assert.equal(health.round, 0)
})

test('latchkey devnet warns if other machines can reach it', async (t) => {
  const devnet = await startHostedDevnet(t, ['--host', '0.0.0.0'])
  await until('the warning', () => devnet.stderr().includes('can be reached from other machines'))
})

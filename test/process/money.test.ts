/** Tests the commands that read the ledger or use the faucet: `latchkey fund`, `latchkey balance`, `latchkey tx`. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, suite, test } from 'node:test'
import { missingProgram } from '../support/programs.test.helper.js'
import { type Scope, suiteScope } from './commands.test.helper.js'
import { dollar, idOf, Money, newAddress } from './money.test.helper.js'

suite('latchkey fund, balance and tx', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money

  before(async () => {
    money = await Money.start(scope, ['--indexer-port', '0'])
  })

  test('fund gives ALGO and dollars, and opts in', { skip: missingProgram('python3') }, async (t) => {
    const address = newAddress()
    const terminal = money.open(t, ['fund', address])
    await terminal.sees(`Funded ${address} with 10 ALGO and 10 USDC`)
    assert.equal((await terminal.ended).code, 0)
    assert.equal(await money.holding(address, dollar), 10_000_000)
    const some = await money.run(['fund', address, '0.5 ALGO', '2.25 USDC', '--json'])
    assert.equal(some.code, 0, some.stderr)
    const { funded, ...facts } = JSON.parse(some.stdout)
    assert.equal(facts.address, address)
    assert.deepEqual(
      funded.map((one: { amount: string; unit: string }) => `${one.amount} ${one.unit}`),
      ['0.5 ALGO', '2.25 USDC'],
    )
    assert.equal(await money.holding(address, dollar), 12_250_000)
  })

  test('fund names another faucet, or reports that there is none', async (t) => {
    const address = newAddress()
    const proxy = await withoutFaucet(t, money.facts.url)
    const cases: [args: string[], code: number, says: RegExp][] = [
      [
        ['--network', 'testnet'],
        3,
        /works only on a devnet, not on TestNet; get ALGO for .* from https:\/\/lora\.algokit\.io\/testnet\/fund; get USDC from https:\/\/faucet\.circle\.com, after latchkey opt-in USDC --network testnet/,
      ],
      [
        ['--network', 'mainnet'],
        3,
        /works only on a devnet, not on MainNet; send from a funded account: latchkey send '1 ALGO'/,
      ],
      [
        ['--network', 'local', '--node', proxy],
        3,
        /not a latchkey devnet and has no faucet; .*latchkey send '10 ALGO' [A-Z2-7]{58}/,
      ],
      [['--network', 'local', '--node', 'http://127.0.0.1:1'], 3, /--node/],
      [['0.01 ALGO'], 3, /the faucet gave no ALGO: .*below its minimum balance/],
      [['5'], 2, /the amount 5 has no unit; write it as '5 ALGO', '5 USDC', or '5 #ID'/],
      [['1 GOLD'], 3, /no asset with the unit GOLD was found/],
    ]
    for (const [args, code, says] of cases) {
      const result = await money.run(['fund', address, ...args])
      assert.deepEqual([result.code, result.stdout], [code, ''], `${args.join(' ')}: ${result.stderr}`)
      assert.match(result.stderr, says)
    }
    assert.equal((await money.run(['fund', 'nonsense'])).code, 2)
  })

  test('balance shows the spendable amount, and every asset with its unit', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { alice, bob, carol } = money.accounts
    const assetId = await money.createAsset('GOLD', [alice])
    await money.freeze(assetId, alice)
    const terminal = await money.unlocked(t, ['balance'])
    await terminal.sees('On the local network:\n')
    assert.equal((await terminal.ended).code, 0)
    const screen = terminal.screen()
    assert.match(
      screen,
      new RegExp(`^${alice.address}\n {2}[0-9.,]+ ALGO +[0-9.,]+ ALGO to spend, 0\\.[0-9]+ ALGO must stay\n`, 'm'),
    )
    assert.match(screen, new RegExp(`^ {2}5 GOLD +asset ${assetId}, frozen$`, 'm'))
    assert.match(screen, new RegExp(`^ {2}[0-9.,]+ USDC +asset ${dollar}$`, 'm'))
    const made = await money.run(['multisig', 'new', '--threshold', '1', bob.address, carol.address, '-w', 'others'])
    const json = await money.run(['balance', '-w', 'others', '--json'])
    const { accounts } = JSON.parse(json.stdout)
    assert.deepEqual(
      accounts.map(({ address }: { address: string }) => address).sort(),
      [bob.address, carol.address, made.stdout.trim()].sort(),
    )
  })

  test('balance of given addresses needs no daemon', async () => {
    const address = newAddress()
    await money.devnet('/fund', { address, algos: 2 })
    const shown = await money.run(['balance', address], { KMD_DATA_DIR: '/nonexistent' })
    assert.deepEqual([shown.code, shown.stdout], [0, `${address}\n  2 ALGO  1.9 ALGO to spend, 0.1 ALGO must stay\n`])
    const empty = await money.run(['balance', newAddress(), '--json'], { KMD_DATA_DIR: '/nonexistent' })
    const [{ algos, spendable, assets }] = JSON.parse(empty.stdout).accounts
    assert.deepEqual([algos, spendable, assets], ['0', '0', []])
    assert.equal((await money.run(['balance'], { KMD_DATA_DIR: '/nonexistent' })).code, 5)
    assert.equal((await money.run(['balance', address, 'nonsense'])).code, 2)
    const down = await money.run(['balance', address, '--node', 'http://127.0.0.1:1'])
    assert.deepEqual([down.code, down.stdout], [3, ''])
    const wrong = await money.run(['balance', '-w', 'spending'], { KMD_PASSWORD_FILE: '/dev/null' })
    assert.equal(wrong.code, 6)
  })

  test('a unit that imitates another is quoted', async () => {
    const { alice } = money.accounts
    const assetId = await money.createAsset('ALGO', [alice])
    const { stdout } = await money.run(['balance', alice.address])
    assert.match(stdout, new RegExp(`^ {2}5 "ALGO" +asset ${assetId}$`, 'm'))
  })

  test('tx describes the transaction, from the node and from an indexer after the node has forgotten it', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { alice, bob } = money.accounts
    const id = idOf(await money.run(['send', '1.5 USDC', bob.address, '-w', 'spending', '-y']))
    const words = new RegExp(
      `^It was confirmed in round [0-9]+, at [0-9]{4}-[0-9-]+ [0-9:]+ UTC, on the local network\\.\n {2}Sends 1\\.5 USDC \\(asset ${dollar}\\) to ${bob.address}\\.\n {2}The sender is ${alice.address}\\.\n`,
    )
    const terminal = money.open(t, ['tx', id])
    assert.equal((await terminal.ended).code, 0)
    assert.match(terminal.screen(), words)
    await money.devnet('/mine', { rounds: 1_010 })
    const forgotten = await money.run(['tx', id], { HOME: '/nonexistent' })
    assert.equal(forgotten.code, 3)
    assert.match(forgotten.stderr, /does not know it, no indexer was asked: .*--indexer/)
    const url = money.facts.indexerUrl!
    assert.match((await money.run(['tx', id, '--indexer', url])).stdout, words)
    const json = await money.run(['tx', id, '--json'], { INDEXER_URL: url })
    const { state, description } = JSON.parse(json.stdout)
    assert.deepEqual(
      [json.code, state, description[0]],
      [0, 'confirmed', `Sends 1.5 USDC (asset ${dollar}) to ${bob.address}.`],
    )
    const unknown = await money.run(['tx', 'A'.repeat(52), '--indexer', url])
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /does not know it, nor does the indexer/)
    const down = await money.run(['tx', 'A'.repeat(52), '--indexer', 'http://127.0.0.1:1'])
    assert.match(down.stderr, /warning: the indexer at http:\/\/127\.0\.0\.1:1 does not respond/)
    for (const wrong of ['', 'x', id.slice(1), id.toLowerCase()]) assert.equal((await money.run(['tx', wrong])).code, 2)
  })
})

/** Starts an algod that is not a devnet: the same node behind a server that does not forward the faucet. */
async function withoutFaucet(t: Scope, node: string): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url!.startsWith('/devnet')) return void response.writeHead(404).end('{"message":"Not Found"}')
    const answer = await fetch(`${node}${request.url}`)
    response.writeHead(answer.status).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

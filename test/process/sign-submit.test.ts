/**
 * Tests `latchkey sign --submit`: signed transactions are sent, awaited and reported; transactions that cannot be sent
 * are not signed.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope } from './commands.test.helper.js'
import { idOf, Money, newAddress, type Secret } from './money.test.helper.js'

suite('latchkey sign --submit', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money
  let files = 0

  before(async () => {
    money = await Money.start(scope)
  })

  async function payment(from: Secret | string, more: object = {}): Promise<algosdk.Transaction> {
    return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender: typeof from === 'string' ? from : from.address, receiver: money.accounts.carol.address },
      ...{ amount: 1_000n, note: Buffer.from(`${++files}`), suggestedParams: await money.params(), ...more },
    })
  }

  function write(...transactions: algosdk.Transaction[]): string {
    const path = join(money.home, `${++files}.txn`)
    writeFileSync(path, Buffer.concat(transactions.map((one) => algosdk.encodeUnsignedTransaction(one))))
    return path
  }

  const sign = (...args: string[]) => money.run(['sign', '--submit', '--yes', '-w', 'spending', ...args])
  const isKnown = async (transaction: algosdk.Transaction): Promise<boolean> =>
    (await fetch(`${money.facts.url}/v2/transactions/pending/${transaction.txID()}`)).status === 200

  test('on a terminal: describes, asks, signs, sends and prints the id', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const transaction = await payment(money.accounts.alice)
    const terminal = await money.unlocked(t, ['sign', write(transaction), '--submit'])
    await terminal.sees('Sign and send? [y/N] ')
    assert.match(terminal.screen(), /Pays 0\.001 ALGO to [\s\S]*Password of spending/)
    terminal.type('y\r')
    await terminal.sees('Confirmed in round ')
    assert.deepEqual(await terminal.ended, { code: 0, isEchoOn: true, isByLine: true })
    assert.match(terminal.screen(), new RegExp(`^${transaction.txID()}$`, 'm'))
    assert.ok(await isKnown(transaction))
  })

  test('sends nothing if declined', { skip: missingProgram('python3') }, async (t) => {
    const transaction = await payment(money.accounts.alice)
    const terminal = await money.unlocked(t, ['sign', write(transaction), '--submit'])
    await terminal.sees('Sign and send? [y/N] ')
    terminal.type('n\r')
    assert.equal((await terminal.ended).code, 1)
    assert.ok(!(await isKnown(transaction)))
  })

  test('shows asset amounts with their unit, and also writes the file', async () => {
    const { alice, bob } = money.accounts
    const assetId = await money.createAsset('CENT', [alice, bob])
    const transfer = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...{ sender: alice.address, receiver: bob.address, amount: 125n, assetIndex: assetId },
      suggestedParams: await money.params(),
    })
    const out = join(money.home, 'out.stxn')
    const sent = await sign(write(transfer), '--out', out)
    assert.equal(idOf(sent), transfer.txID())
    assert.match(sent.stderr, new RegExp(`Sends 1\\.25 CENT \\(asset ${assetId}\\)`))
    assert.equal(algosdk.decodeSignedTransaction(readFileSync(out)).txn.txID(), transfer.txID())
    assert.equal(await money.holding(bob.address, assetId), 625)
  })

  test('sends a group as one, with an id for each; the same file again sends nothing more', async () => {
    const { alice } = money.accounts
    const group = algosdk.assignGroupID([await payment(alice), await payment(alice)])
    const file = write(...group)
    const ids = group.map((one) => one.txID())
    const sent = await sign(file)
    assert.deepEqual([sent.code, sent.stdout], [0, `${ids.join('\n')}\n`], sent.stderr)
    const before = await money.microAlgos(alice.address)
    const again = await sign(file, '--json')
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stderr, /The transaction is already in the ledger: nothing was signed or sent now\./)
    const { transactions, state } = JSON.parse(again.stdout)
    assert.deepEqual([transactions.map(({ id }: { id: string }) => id), state], [ids, 'confirmed'])
    assert.equal(await money.microAlgos(alice.address), before)
  })

  test('does not sign what cannot be sent', async () => {
    const { alice, bob } = money.accounts
    const params = await money.params()
    const now = BigInt(params.firstValid)
    const elsewhere = { ...params, genesisHash: Buffer.from('SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=', 'base64') }
    const other = { ...params, genesisHash: Buffer.alloc(32, 7) }
    const rounds = (from: bigint, to: bigint) => ({ suggestedParams: { ...params, firstValid: from, lastValid: to } })
    await money.devnet('/mine', { rounds: 3 })
    const group = algosdk.assignGroupID([await payment(alice), await payment(alice)])
    const mixed = algosdk.assignGroupID([await payment(alice), await payment(bob)])
    const assetId = await money.createAsset('RARE', [alice])
    const transfer = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...{ sender: alice.address, receiver: bob.address, amount: 1n, assetIndex: assetId },
      suggestedParams: await money.params(),
    })
    const cases: [transactions: algosdk.Transaction[], says: RegExp][] = [
      [
        [await payment(alice, { suggestedParams: elsewhere })],
        /is for TestNet, but the node belongs to the local network; give --network testnet/,
      ],
      [
        [await payment(alice, { suggestedParams: other })],
        /is for another network, but the node belongs to the local network/,
      ],
      [
        [await payment(alice, rounds(1n, now))],
        /expired in round [0-9]+, .*check whether it was confirmed with latchkey tx [A-Z2-7]{52}/,
      ],
      [
        [await payment(alice, rounds(now + 50n, now + 60n))],
        /is valid from round [0-9]+, but the network is at round [0-9]+/,
      ],
      [[await payment(alice), await payment(alice)], /not one complete group/],
      [[group[0]!], /not one complete group/],
      [
        [transfer],
        new RegExp(`nothing was signed: The receiver .*latchkey opt-in ${assetId} --account ${bob.address}`),
      ],
      [mixed, /Transaction 2 of 2 stays unsigned: .*cannot be sent/],
      [[await payment(bob)], /has no key to sign any of the transactions/],
      [
        [await payment(alice, { amount: 10n ** 16n })],
        /nothing was signed: The account [A-Z2-7]{58} does not have enough ALGO\. See its balance with latchkey balance [A-Z2-7]{58}; fund it: latchkey fund [A-Z2-7]{58}/,
      ],
      [
        [await payment(alice, { receiver: newAddress(), amount: 5n })],
        /nothing was signed: .*minimum balance of 0\.1 ALGO\. Fund it with 0\.099995 ALGO: latchkey fund [A-Z2-7]{58} '0\.099995 ALGO'/,
      ],
    ]
    for (const [transactions, says] of cases) {
      const out = join(money.home, `${++files}.out`)
      const result = await sign(write(...transactions), '--out', out)
      assert.deepEqual([result.code, result.stdout], [3, ''], result.stderr)
      assert.match(result.stderr, says)
      assert.ok(!existsSync(out), 'nothing was written')
    }
    const program = join(money.home, 'program')
    writeFileSync(program, Uint8Array.of(6, 0x81, 1))
    assert.equal((await sign('--program', program, '--key', alice.address)).code, 2)
  })

  test('the last member sends a multisig', async () => {
    const { bob, carol } = money.accounts
    const addrs = [bob.address, carol.address]
    const account = algosdk.multisigAddress({ version: 1, threshold: 2, addrs }).toString()
    await money.run(['multisig', 'new', '--threshold', '2', ...addrs, '-w', 'others'])
    await money.devnet('/fund', { address: account, algos: 5 })
    const transaction = await payment(account)
    const member = (address: string) => ['--multisig', account, '--member', address, '-w', 'others']
    const first = join(money.home, 'first.txn')
    const early = await sign(write(transaction), ...member(bob.address), '--out', first)
    assert.equal(early.code, 3, early.stderr)
    assert.match(
      early.stderr,
      /needs 1 more signature\.[\s\S]*nothing was sent: signatures of other members are missing/,
    )
    assert.ok(!(await isKnown(transaction)))
    const unfinished = await sign(first, '-w', 'spending')
    assert.equal(unfinished.code, 3, unfinished.stderr)
    const done = await sign(first, ...member(carol.address))
    assert.equal(idOf(done), transaction.txID())
  })

  test('sends a file that is already signed', async () => {
    const { dora } = money.accounts
    const transaction = await payment(dora)
    const path = join(money.home, 'signed.stxn')
    writeFileSync(path, transaction.signTxn(dora.secretKey))
    assert.equal(idOf(await sign(path)), transaction.txID())
    assert.ok(await isKnown(transaction))
  })

  test('an unknown outcome is pending', async () => {
    const transaction = await payment(money.accounts.alice)
    const file = write(transaction)
    await money.devnet('/faults', { type: 'drop', count: 1 })
    await money.devnet('/faults', { type: 'lose', count: 100_000 })
    const unseen = await sign(file, '--timeout', '1')
    assert.deepEqual([unseen.code, unseen.stdout], [7, `${transaction.txID()}\n`], unseen.stderr)
    await money.devnet('/faults', {}, 'DELETE')
    assert.equal(idOf(await sign(file)), transaction.txID())
  })
})

/** Tests the command `latchkey send`: its output, prompts, payments and refusals. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { startDevnet } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope } from './commands.test.helper.js'
import { dollar, idOf, Money, newAddress } from './money.test.helper.js'

suite('latchkey send', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money

  before(async () => {
    money = await Money.start(scope)
  })

  test('on a terminal: describes the transfer, asks, signs, sends and prints the id', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { alice, bob } = money.accounts
    const before = await money.microAlgos(bob.address)
    const terminal = await money.unlocked(t, ['send', '2.5 ALGO', bob.address, '--note', 'lunch'])
    const shown = await terminal.sees('Send it? [y/N] ')
    assert.match(shown, /On the local network:\n/)
    assert.match(shown, new RegExp(`Pays 2\\.5 ALGO to ${bob.address}\\.\n`))
    assert.match(shown, new RegExp(`The sender is ${alice.address}\\.\n +The fee is 0\\.001 ALGO\\.\n`))
    assert.match(shown, /Note: "lunch"\.\n/)
    assert.match(shown, /Afterwards [A-Z2-7]{58} has [0-9.,]+ ALGO, of which 0\.[0-9]+ ALGO must stay\.\n/)
    terminal.type('y\r')
    await terminal.sees('Confirmed in round ')
    assert.deepEqual(await terminal.ended, { code: 0, isEchoOn: true, isByLine: true })
    const [id] = /^[A-Z2-7]{52}$/m.exec(terminal.screen())!
    assert.ok(terminal.screen().indexOf(id) < terminal.screen().indexOf('Confirmed in round'), 'the id comes first')
    const pending = await money.algod.pendingTransactionInformation(id).do()
    assert.deepEqual(
      [
        pending.txn.txn.payment?.amount,
        pending.txn.txn.sender.toString(),
        Buffer.from(pending.txn.txn.note).toString(),
      ],
      [2_500_000n, alice.address, 'lunch'],
    )
    assert.equal((await money.microAlgos(bob.address)) - before, 2_500_000)
  })

  test('sends nothing on Ctrl-C or on any answer except yes', { skip: missingProgram('python3') }, async (t) => {
    const { alice, bob } = money.accounts
    const before = await money.microAlgos(alice.address)
    for (const [typed, code] of [
      ['n\r', 1],
      ['\r', 1],
      ['\u0003', 130],
    ] as const) {
      const terminal = await money.unlocked(t, ['send', '1 ALGO', bob.address])
      await terminal.sees('Send it? [y/N] ')
      terminal.type(typed)
      assert.deepEqual(await terminal.ended, { code, isEchoOn: true, isByLine: true })
    }
    assert.equal(await money.microAlgos(alice.address), before)
  })

  test('without a terminal, requires --yes and a correct password', async () => {
    const { bob } = money.accounts
    const refused = await money.run(['send', '1 ALGO', bob.address, '-w', 'spending'])
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /confirmation is required, but stdin is not a terminal; give --yes/)
    const wrong = await money.run(['send', '1 ALGO', bob.address, '-w', 'spending', '-y'], {
      KMD_PASSWORD_FILE: '/dev/null',
    })
    assert.equal(wrong.code, 6, wrong.stderr)
    const gone = await money.run(['send', '1 ALGO', bob.address, '-y'], { KMD_DATA_DIR: '/nonexistent' })
    assert.equal(gone.code, 5, gone.stderr)
  })

  test('sends assets by their unit or id, with their decimals', async () => {
    const { alice, bob } = money.accounts
    const before = (await money.holding(bob.address, dollar))!
    const paid = await money.run(['send', '2.5 USDC', bob.address, '--from', 'spending', '--yes', '--json'])
    assert.equal(paid.code, 0, paid.stderr)
    const { id, ...facts } = JSON.parse(paid.stdout)
    assert.match(paid.stderr, new RegExp(`Sends 2\\.5 USDC \\(asset ${dollar}\\) to`))
    assert.match(paid.stderr, new RegExp(`Sending transaction ${id}\\.\n`))
    assert.deepEqual(
      [facts.state, facts.from, facts.to, facts.amount, facts.unit, facts.asset, facts.explorer, facts.repeated],
      ['confirmed', alice.address, bob.address, '2.5', 'USDC', `${dollar}`, null, false],
    )
    assert.equal((await money.holding(bob.address, dollar))! - before, 2_500_000)
    const assetId = await money.createAsset('CENT', [money.accounts.alice, bob])
    for (const amount of ['1.25 cent', `0.75 #${assetId}`]) {
      idOf(await money.run(['send', amount, bob.address, '--from', alice.address, '-w', 'spending', '-y']))
    }
    assert.equal(await money.holding(bob.address, assetId), 700)
    assert.equal(await money.holding(alice.address, assetId), 300)
  })

  test('pays to a label of the address book, and names the label of an address', async () => {
    const { bob } = money.accounts
    const added = await money.run(['contact', 'add', 'Best friend', bob.address])
    assert.equal(added.code, 0, added.stderr)
    const before = await money.microAlgos(bob.address)
    const paid = await money.run(['send', '0.75 ALGO', 'best friend', '-w', 'spending', '-y'])
    idOf(paid)
    assert.match(paid.stderr, new RegExp(`Pays 0\\.75 ALGO to ${bob.address}\\.`))
    assert.match(paid.stderr, /In the address book, the receiver is "Best friend"\./)
    assert.equal((await money.microAlgos(bob.address)) - before, 750_000)
    const byAddress = await money.run(['send', '0.5 ALGO', bob.address, '-w', 'spending', '-y'])
    assert.match(byAddress.stderr, /In the address book, the receiver is "Best friend"\./)
    const near = await money.run(['send', '1 ALGO', 'Best freind', '-w', 'spending', '-y'])
    assert.deepEqual([near.code, near.stdout], [3, ''])
    assert.match(near.stderr, /did you mean Best friend\?/)
  })

  test('reports what is missing before signing, and which command helps', async () => {
    const { alice, bob, dora } = money.accounts
    const stranger = newAddress()
    const cent = await money.createAsset('RARE', [alice])
    const twins = [await money.createAsset('TWIN', [alice]), await money.createAsset('TWIN', [alice])]
    const frozen = await money.createAsset('ICE', [alice])
    await money.freeze(frozen, alice)
    const frozenThere = await money.createAsset('SNOW', [alice, bob])
    await money.freeze(frozenThere, bob)
    const before = await money.microAlgos(alice.address)
    const cases: [args: string[], code: number, says: RegExp][] = [
      [
        ['9999999999 ALGO', bob.address],
        3,
        /lacks [0-9.,]+ ALGO.*minimum balance.*latchkey fund [A-Z2-7]{58} '[0-9.]+ ALGO'/,
      ],
      [['9999999999 USDC', bob.address], 3, /has [0-9.,]+ USDC and needs [0-9,]+; .*latchkey fund/],
      [['0.05 ALGO', stranger], 3, /is a new account, and must have at least 0\.1 ALGO; send it at least 0\.1 ALGO/],
      [
        ['1 USDC', stranger],
        3,
        new RegExp(`not opted in to asset ${dollar}; .*latchkey opt-in ${dollar} --account ${stranger}`),
      ],
      [
        ['1 RARE', bob.address],
        3,
        new RegExp(`not opted in to asset ${cent}; .*latchkey opt-in ${cent} --account ${bob.address}`),
      ],
      [
        ['1 TWIN', bob.address],
        2,
        new RegExp(`several assets: TWIN \\(asset ${twins[0]}\\), TWIN \\(asset ${twins[1]}\\); .*'#${twins[0]}'`),
      ],
      [['1 ICE', bob.address], 3, /the ICE holding of [A-Z2-7]{58} is frozen/],
      [['1 SNOW', bob.address], 3, /SNOW \(asset [0-9]+\) is frozen in the account of the receiver/],
      [['1 GOLD', bob.address], 3, /no asset with the unit GOLD was found; the account holds/],
      [['1 #999999999', bob.address], 3, /there is no asset 999999999/],
      [['1', bob.address], 2, /the amount 1 has no unit; write it as '1 ALGO'/],
      [['1.0000001 ALGO', bob.address], 2, /ALGO has 6 decimals/],
      [['0 ALGO', bob.address], 2, /the amount is zero/],
      [
        ['1 ALGO', bob.address.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
        2,
        /TO is not an Algorand address.*copy the address again/,
      ],
      [
        ['1 ALGO', 'Corner shop'],
        3,
        /"Corner shop" is neither an address nor in the address book; list the contacts with latchkey contact list; add one with latchkey contact add/,
      ],
      [['1 ALGO', alice.address], 2, /sender and receiver are the same account/],
      [
        ['1 ALGO', bob.address, '--from', dora.address],
        3,
        /wallet spending does not have the key of .*latchkey key list.*--wallet/,
      ],
      [['1 ALGO', bob.address, '--note', 'x'.repeat(1025)], 2, /--note takes at most 1024 bytes/],
      [
        ['1 ALGO', bob.address, '--network', 'testnet', '--node', money.facts.url],
        3,
        /belongs to .*, not to TestNet.*--network/,
      ],
      [['1 ALGO', bob.address, '--node', 'http://127.0.0.1:1'], 3, /node/],
      [['1 ALGO', bob.address, '--log', '/dev/null/x'], 3, /cannot be (?:read|written)/],
    ]
    for (const [args, code, says] of cases) {
      const result = await money.run(['send', ...args, '-w', 'spending', '--yes'])
      assert.deepEqual([result.code, result.stdout], [code, ''], `${args[0]}: ${result.stderr}`)
      assert.match(result.stderr, says)
    }
    const several = await money.run(['send', '1 ALGO', alice.address, '--from', 'others', '-y'])
    assert.deepEqual([several.code, several.stdout], [2, ''])
    assert.match(several.stderr, /has several keys: .*select one with --from/)
    assert.equal(await money.microAlgos(alice.address), before)
  })

  test('MainNet requires an explicit word, whatever node is given', async (t) => {
    const { bob } = money.accounts
    const { facts } = await startDevnet(t, ['--genesis-hash', 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8='])
    const node = { ALGOD_URL: facts.url }
    const refused = await money.run(['send', '1 ALGO', bob.address, '-w', 'spending', '-y'], node)
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /belongs to mainnet, where money is real.*--network mainnet/i)
    const args = ['--network', 'mainnet', '--node', facts.url]
    const paid = await money.run(['send', '1 ALGO', bob.address, '-w', 'spending', '-y', ...args])
    const id = idOf(paid)
    assert.match(paid.stderr, /On MainNet:\n[\s\S]*Warning: This is MainNet: it moves real money\./)
    assert.match(
      paid.stderr,
      new RegExp(`Confirmed in round [0-9]+ on MainNet\\.\nhttps://lora\\.algokit\\.io/mainnet/transaction/${id}\n`),
    )
  })

  test('signs for a rekeyed account with its new key, if the wallet has it', async () => {
    const { bob, carol, dora } = money.accounts
    const rekey = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender: dora.address, receiver: dora.address, amount: 0n, rekeyTo: carol.address },
      suggestedParams: await money.params(),
    })
    const from = ['--from', dora.address]
    await money.submit(dora, rekey)
    const paid = await money.run(['send', '1 ALGO', bob.address, ...from, '-w', 'others', '--yes'])
    idOf(paid)
    assert.match(paid.stderr, new RegExp(`Signed by ${carol.address}, to which the sender is rekeyed`))
    const refused = await money.run(['send', '1 ALGO', bob.address, ...from, '-w', 'spending', '--yes'])
    assert.equal(refused.code, 3)
    assert.match(
      refused.stderr,
      new RegExp(`is rekeyed to ${carol.address}, and wallet spending does not have that key`),
    )
    const back = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender: dora.address, receiver: dora.address, amount: 0n, rekeyTo: dora.address },
      suggestedParams: await money.params(),
    })
    await money.algod.sendRawTransaction(back.signTxn(carol.secretKey)).do()
  })

  test('identifies a multisig account', async () => {
    const { alice, bob, carol } = money.accounts
    const addrs = [bob.address, carol.address]
    const multisig = algosdk.multisigAddress({ version: 1, threshold: 2, addrs }).toString()
    await money.run(['multisig', 'new', '--threshold', '2', ...addrs, '-w', 'others'])
    const refused = await money.run(['send', '1 ALGO', alice.address, '--from', multisig, '-w', 'others', '-y'])
    assert.equal(refused.code, 3)
    assert.match(
      refused.stderr,
      new RegExp(`is a multisig account.*latchkey sign FILE --multisig ${multisig} .*--submit`),
    )
    assert.ok(existsSync(join(money.home, '.latchkey', 'transactions.jsonl')))
  })
})

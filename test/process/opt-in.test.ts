/** Tests the commands `latchkey opt-in` and `latchkey opt-out`. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope } from './commands.test.helper.js'
import { idOf, Money, newAddress } from './money.test.helper.js'

suite('latchkey opt-in and opt-out', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money
  let assetId: number

  before(async () => {
    money = await Money.start(scope)
    assetId = await money.createAsset('GOLD', [money.accounts.bob])
  })

  test('on a terminal: opts in, shows the cost, and opts out again, with nothing lost', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { alice } = money.accounts
    const into = await money.unlocked(t, ['opt-in', `${assetId}`])
    const shown = await into.sees('Send it? [y/N] ')
    assert.match(
      shown,
      new RegExp(
        `Opts in to GOLD \\(asset ${assetId}\\): the account may then hold it, and must keep 0\\.1 ALGO more\\.`,
      ),
    )
    assert.match(shown, /The fee is 0\.001 ALGO\./)
    into.type('y\r')
    await into.sees('Confirmed in round ')
    assert.deepEqual(await into.ended, { code: 0, isEchoOn: true, isByLine: true })
    assert.equal(await money.holding(alice.address, assetId), 0)
    const out = await money.unlocked(t, ['opt-out', 'gold'])
    assert.match(
      await out.sees('Send it? [y/N] '),
      /Opts out of GOLD [\s\S]*Nothing is lost: the account holds none of it\./,
    )
    out.type('yes\r')
    await out.sees('Confirmed in round ')
    assert.equal((await out.ended).code, 0)
    assert.equal(await money.holding(alice.address, assetId), undefined)
  })

  test('does nothing if declined', { skip: missingProgram('python3') }, async (t) => {
    const terminal = await money.unlocked(t, ['opt-in', `${assetId}`])
    await terminal.sees('Send it? [y/N] ')
    terminal.type('n\r')
    assert.equal((await terminal.ended).code, 1)
    assert.equal(await money.holding(money.accounts.alice.address, assetId), undefined)
  })

  test('sends no transaction if none is needed', async () => {
    const { alice } = money.accounts
    const already = await money.run(['opt-in', 'USDC', '-w', 'spending', '-y', '--json'])
    assert.equal(already.code, 0, already.stderr)
    assert.equal(JSON.parse(already.stdout).id, null)
    assert.match(already.stderr, /is already opted in to USDC \(asset 31566704\); nothing was done/)
    const not = await money.run(['opt-out', `${assetId}`, '-w', 'spending', '-y'])
    assert.deepEqual([not.code, not.stdout], [0, ''])
    assert.match(not.stderr, new RegExp(`${alice.address} is not opted in to GOLD`))
  })

  test('opting out with a balance requires a destination and a typed word', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { bob, carol } = money.accounts
    const from = ['--account', bob.address]
    const refused = await money.run(['opt-out', 'GOLD', ...from, '-w', 'others', '-y'])
    assert.deepEqual([refused.code, refused.stdout], [3, ''])
    assert.match(
      refused.stderr,
      new RegExp(
        `holds 5 GOLD \\(asset ${assetId}\\), which would be lost; .*latchkey send '5 #${assetId}' ADDRESS; .*--to`,
      ),
    )
    const closed = await money.run(['opt-out', 'GOLD', ...from, '-w', 'others', '-y', '--to', carol.address])
    assert.equal(closed.code, 3)
    assert.match(
      closed.stderr,
      new RegExp(`not opted in to asset ${assetId}; .*latchkey opt-in ${assetId} --account ${carol.address}`),
    )
    idOf(await money.run(['opt-in', `#${assetId}`, '--account', carol.address, '-w', 'others', '-y']))
    const terminal = await money.unlocked(t, ['opt-out', 'GOLD', ...from, '--to', carol.address], 'others')
    const shown = await terminal.sees('Type opt-out to continue: ')
    assert.match(shown, new RegExp(`Warning: It closes the holding[\\s\\S]*5 GOLD goes to ${carol.address}\\.`))
    terminal.type('opt-out\r')
    await terminal.sees('Confirmed in round ')
    assert.equal((await terminal.ended).code, 0)
    assert.deepEqual(
      [await money.holding(bob.address, assetId), await money.holding(carol.address, assetId)],
      [undefined, 500],
    )
    const word = await money.unlocked(t, ['opt-out', 'GOLD', '--account', carol.address, '--to', bob.address], 'others')
    await word.sees('not opted in')
    assert.equal((await word.ended).code, 3)
  })

  test('an amount that arrives after the question is not lost', { skip: missingProgram('python3') }, async (t) => {
    const { alice } = money.accounts
    idOf(await money.run(['opt-in', `${assetId}`, '-w', 'spending', '-y']))
    const terminal = await money.unlocked(t, ['opt-out', 'GOLD'])
    await terminal.sees('Send it? [y/N] ')
    await money.devnet('/fund', { address: alice.address, assetId, amount: 7 })
    terminal.type('y\r')
    assert.equal((await terminal.ended).code, 3)
    assert.match(terminal.screen(), /nothing was sent: The account still holds some of the asset/)
    assert.equal(await money.holding(alice.address, assetId), 7)
  })

  test('a frozen asset can only go back to its creator', async () => {
    const { alice, bob, dora } = money.accounts
    const ice = await money.createAsset('ICE', [alice, bob])
    await money.freeze(ice, alice)
    const args = ['opt-out', 'ICE', '-w', 'spending', '-y', '--to']
    const refused = await money.run([...args, bob.address])
    assert.equal(refused.code, 3)
    assert.match(
      refused.stderr,
      new RegExp(`is frozen in the account; only its creator can receive the rest: --to ${dora.address}`),
    )
    idOf(await money.run([...args, dora.address]))
    assert.equal(await money.holding(alice.address, ice), undefined)
  })

  test('reports problems before signing', async () => {
    const { alice } = money.accounts
    const handle = await money.createWallet('poor', [])
    const poor = await money.kmd.generate(handle)
    const cases: [args: string[], code: number, says: RegExp][] = [
      [
        ['opt-in', `${assetId}`, '-w', 'poor'],
        3,
        new RegExp(`${poor} lacks 0\\.101 ALGO: .*latchkey fund ${poor} '0\\.101 ALGO'`),
      ],
      [['opt-in', 'ALGO', '-w', 'spending'], 2, /ALGO needs no opt-in/],
      [['opt-out', 'ALGO', '-w', 'spending'], 2, /no account can opt out of ALGO/],
      [['opt-in', 'GOLD', '-w', 'spending'], 3, /no asset with the unit GOLD was found; name the asset by its id/],
      [['opt-in', '999999999', '-w', 'spending'], 3, /there is no asset 999999999/],
      [['opt-in', `${assetId}`, '--account', newAddress(), '-w', 'spending'], 3, /does not have the key of/],
      [['opt-out', 'USDC', '-w', 'spending', '--to', alice.address], 2, /--to is the account itself/],
      [['opt-in', `${assetId}`, '--network', 'testnet', '--node', money.facts.url], 3, /not to TestNet/],
      [['opt-in', `${assetId}`], 2, /several wallets/],
    ]
    for (const [args, code, says] of cases) {
      const result = await money.run([...args, '--yes'])
      assert.deepEqual([result.code, result.stdout], [code, ''], `${args.join(' ')}: ${result.stderr}`)
      assert.match(result.stderr, says)
    }
    const silent = await money.run(['opt-in', `${assetId}`, '-w', 'spending'])
    assert.equal(silent.code, 2)
    assert.match(silent.stderr, /give --yes/)
  })
})

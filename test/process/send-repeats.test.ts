/** Tests `latchkey send` when its outcome is not seen: the same command never pays twice. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { shell } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope, until } from './commands.test.helper.js'
import { idOf, Money } from './money.test.helper.js'

suite('latchkey send, again', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money
  /** A ledger that makes blocks only on request. */
  let manual: Money

  before(async () => {
    ;[money, manual] = await Promise.all([Money.start(scope), Money.start(scope, ['--no-mining'])])
  })

  const send = (on: Money, amount: string, ...more: string[]) =>
    on.runAlone(['send', amount, on.accounts.bob.address, '-w', 'spending', '--yes', ...more])

  /** Prints the result to a file. */
  const sendTo = (on: Money, amount: string, file: string) => {
    const env = { ...on.environment, KMD_PASSWORD_FILE: join(on.home, 'password') }
    const line = `latchkey send '${amount}' ${on.accounts.bob.address} -w spending --yes --json > ${file}`
    return shell(line, { home: on.home, env })
  }

  test('asks a node that accepted the transaction without a response for its status', async () => {
    const before = await money.microAlgos(money.accounts.bob.address)
    await money.devnet('/faults', { type: 'drop', count: 1 })
    const paid = await send(money, '1.5 ALGO')
    assert.equal(paid.code, 0, paid.stderr)
    idOf(paid)
    assert.equal((await money.microAlgos(money.accounts.bob.address)) - before, 1_500_000)
  })

  test('an unknown outcome is pending, and the same command resends the same transaction', async () => {
    const { bob } = money.accounts
    const before = await money.microAlgos(bob.address)
    await money.devnet('/faults', { type: 'drop', count: 1 })
    await money.devnet('/faults', { type: 'lose', count: 100_000 })
    const unseen = await send(money, '1.25 ALGO', '--timeout', '1')
    assert.equal(unseen.code, 7, unseen.stderr)
    const id = idOf(unseen)
    assert.match(unseen.stderr, new RegExp(`pending: transaction ${id} was sent.*check it with latchkey tx ${id}`))
    await money.devnet('/faults', {}, 'DELETE')
    const told = await money.runAlone(['tx', id])
    assert.equal(told.code, 0, told.stderr)
    assert.match(
      told.stdout,
      /^It was confirmed in round [0-9]+, at 20[0-9-]+ [0-9:]+ UTC, on the local network\.\n {2}Pays 1\.25 ALGO/,
    )
    // The outcome was seen, so another command is another payment.
    const second = await send(money, '1.25 ALGO')
    assert.notEqual(idOf(second), id)
    assert.equal((await money.microAlgos(bob.address)) - before, 2_500_000)
  })

  test('the same command after an unseen success pays nothing more', async () => {
    const { bob } = money.accounts
    const before = await money.microAlgos(bob.address)
    await money.devnet('/faults', { type: 'lose', count: 100_000 })
    const id = idOf(await send(money, '1.75 ALGO', '--timeout', '0'))
    await money.devnet('/faults', {}, 'DELETE')
    const again = await send(money, '1.75 ALGO', '--json')
    assert.equal(again.code, 0, again.stderr)
    const result = JSON.parse(again.stdout)
    assert.deepEqual([result.id, result.state, result.repeated], [id, 'confirmed', true])
    assert.match(again.stderr, /its outcome was not recorded: it is in the ledger, so nothing is sent now/)
    assert.equal((await money.microAlgos(bob.address)) - before, 1_750_000)
  })

  test('an outcome that could not be printed counts as unseen', async () => {
    const { bob } = money.accounts
    const before = await money.microAlgos(bob.address)
    const first = await sendTo(money, '1.6 ALGO', '/dev/full')
    assert.notEqual(first.code, 0)
    const again = await send(money, '1.6 ALGO', '--json')
    assert.equal(again.code, 0, again.stderr)
    assert.equal(JSON.parse(again.stdout).repeated, true, again.stderr)
    const third = await sendTo(money, '1.6 ALGO', '/dev/null')
    assert.equal(third.code, 0, third.stderr)
    assert.equal((await money.microAlgos(bob.address)) - before, 3_200_000)
    // The same applies to a command that reports the outcome later.
    await money.devnet('/faults', { type: 'lose', count: 100_000 })
    const id = idOf(await send(money, '1.65 ALGO', '--timeout', '0'))
    await money.devnet('/faults', {}, 'DELETE')
    await shell(`latchkey tx ${id} > /dev/full`, { home: money.home, env: money.environment })
    assert.equal(idOf(await send(money, '1.65 ALGO')), id)
  })

  test('a rejection is not a pending payment', async () => {
    await money.devnet('/faults', { type: 'fail', status: 400, message: 'overspend', count: 1 })
    const refused = await send(money, '1.1 ALGO')
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, /nothing was sent: The account does not have enough ALGO\./)
    assert.notEqual(idOf(await send(money, '1.1 ALGO')), refused.stdout.trim())
  })

  test('Ctrl-C during the wait names the id, and the next run continues with it', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { bob } = manual.accounts
    const before = await manual.microAlgos(bob.address)
    const terminal = await manual.unlocked(t, ['send', '2 ALGO', bob.address, '--yes'])
    await until('the id', () => /^[A-Z2-7]{52}$/m.test(terminal.screen()))
    const [id] = /^[A-Z2-7]{52}$/m.exec(terminal.screen())!
    await until('it in the pool', async () => {
      return (await fetch(`${manual.facts.url}/v2/transactions/pending/${id}`)).status === 200
    })
    terminal.type('\u0003')
    assert.equal((await terminal.ended).code, 130)
    assert.match(
      terminal.screen().replaceAll('\n', ' '),
      new RegExp(`pending: transaction ${id} was sent.*interrupted.*check it with latchkey tx ${id}`),
    )
    const pending = await manual.runAlone(['tx', id])
    assert.equal(pending.code, 7, pending.stderr)
    assert.match(
      pending.stdout,
      /^It waits for a block, and is valid until round [0-9]+, on the local network\.\n {2}Pays 2 ALGO/,
    )
    const still = await send(manual, '2 ALGO', '--timeout', '0')
    assert.deepEqual([still.code, still.stdout], [7, `${id}\n`])
    await manual.devnet('/mine')
    const done = await send(manual, '2 ALGO')
    assert.deepEqual([done.code, done.stdout], [0, `${id}\n`], done.stderr)
    assert.equal((await manual.microAlgos(bob.address)) - before, 2_000_000)
  })

  test('concurrent commands send one transaction; --again sends another', async () => {
    const { bob } = manual.accounts
    const before = await manual.microAlgos(bob.address)
    const running = await Promise.all([1, 2, 3].map(() => send(manual, '3 ALGO', '--timeout', '0')))
    const ids = new Set(running.map(idOf))
    assert.equal(ids.size, 1)
    const other = idOf(await send(manual, '3 ALGO', '--timeout', '0', '--again'))
    assert.ok(!ids.has(other))
    await manual.devnet('/mine')
    assert.equal((await manual.microAlgos(bob.address)) - before, 6_000_000)
    const record = readFileSync(join(manual.home, '.latchkey', 'transactions.jsonl'), 'utf8')
    for (const id of [...ids, other]) assert.equal(record.split(id).length, 2)
  })

  test('reports an expired transaction, and the same command makes a new one', async () => {
    const { bob } = manual.accounts
    const before = await manual.microAlgos(bob.address)
    // No ledger has the transaction: only the record of what was sent remains.
    await manual.devnet('/snapshot').then(async ({ snapshot }) => {
      idOf(await send(manual, '4 ALGO', '--timeout', '0'))
      await manual.devnet('/revert', { snapshot })
    })
    const record = readFileSync(join(manual.home, '.latchkey', 'transactions.jsonl'), 'utf8').trimEnd()
    const { id, lastValid } = JSON.parse(record.split('\n').at(-1)!)
    const lost = await manual.runAlone(['tx', id])
    assert.equal(lost.code, 7, lost.stderr)
    assert.match(lost.stdout, new RegExp(`The node does not know it; it can be confirmed until round ${lastValid}`))
    const { round } = await manual.devnet('/state', {}, 'GET')
    await manual.devnet('/mine', { rounds: Number(lastValid) + 5 - round })
    const told = await manual.runAlone(['tx', id])
    assert.equal(told.code, 3, told.stderr)
    assert.match(told.stdout, /^It expired: /)
    const next = await send(manual, '4 ALGO', '--timeout', '0')
    assert.notEqual(idOf(next), id)
    await manual.devnet('/mine')
    assert.equal((await manual.microAlgos(bob.address)) - before, 4_000_000)
  })

  test('stops at a damaged record', async () => {
    const before = await money.microAlgos(money.accounts.bob.address)
    const log = join(money.home, 'password')
    const refused = await send(money, '1 ALGO', '--log', log)
    assert.deepEqual([refused.code, refused.stdout], [3, ''])
    assert.match(
      refused.stderr,
      /is not a log of sent transactions, or is damaged; move it away, or give another file with --log/,
    )
    assert.equal(await money.microAlgos(money.accounts.bob.address), before)
  })
})

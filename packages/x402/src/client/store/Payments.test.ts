import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FilePayments } from './FilePayments.js'
import { assetKey, MemoryPayments, type Payment, type PaymentLog, PaymentLogError } from './Payments.js'

const network = 'algorand:local'

function payment(transactionId: string, over: Partial<Payment> = {}): Payment {
  const what = { network, url: 'http://shop/{a}', payTo: 'P', asset: '7', amount: '20', microDollars: '20' }
  return { transactionId, ...what, firstValid: '1', lastValid: '9', signedMs: 1, state: 'open', ...over }
}

function file(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-payments-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'payments.jsonl')
}

const kinds: { [name: string]: (t: TestContext, maxPayments?: number) => PaymentLog } = {
  memory: (_, maxPayments) => new MemoryPayments({ maxPayments }),
  file: (t, maxPayments) => new FilePayments(file(t), { maxPayments }),
}

for (const [name, open] of Object.entries(kinds)) {
  test(`payments in a ${name}`, async (t) => {
    await t.test('are recorded with their state', (t) => {
      const log = open(t)
      for (const id of ['A', 'B', 'C']) log.add(payment(id))
      log.update('A', 'settled')
      log.update('B', 'expired')
      log.update('unknown', 'settled')
      const states = log.all().map(({ transactionId, state }) => [transactionId, state])
      assert.deepEqual(states, [
        ['A', 'settled'],
        ['B', 'expired'],
        ['C', 'open'],
      ])
      assert.deepEqual([log.get('C'), log.get('unknown')], [payment('C'), undefined])
    })

    await t.test('count until they expire', (t) => {
      const log = open(t)
      log.add(payment('A'))
      log.add(payment('B', { microDollars: undefined, asset: '8', amount: '5' }))
      log.add(payment('C'))
      log.update('C', 'expired')
      const { microDollars, assets } = log.spent()
      assert.equal(microDollars, 20n)
      assert.deepEqual([assets.get(assetKey(network, '7')), assets.get(assetKey(network, '8'))], [20n, 5n])
    })

    await t.test('keep a final state', (t) => {
      const log = open(t)
      log.add(payment('A'))
      log.update('A', 'expired')
      log.update('A', 'expired')
      log.update('A', 'settled')
      assert.deepEqual([log.get('A')?.state, log.spent().microDollars], ['expired', 0n])
    })

    await t.test('are evicted beyond the limit, and still counted', (t) => {
      const log = open(t, 10)
      for (let index = 0; index < 30; index++) {
        log.add(payment(`${index}`))
        log.update(`${index}`, index % 2 === 0 ? 'settled' : 'expired')
      }
      assert.equal(log.all().length, 10)
      assert.deepEqual([log.get('0'), log.get('28')?.state], [undefined, 'settled'])
      assert.equal(log.spent().microDollars, 15n * 20n)
    })
  })
}

test('a payment log in a file', async (t) => {
  await t.test('is read by the next process, and is private', (t) => {
    const path = file(t)
    const before = new FilePayments(path)
    before.add(payment('A'))
    before.update('A', 'settled')
    before.add(payment('B'))
    const after = new FilePayments(path)
    assert.deepEqual(after.all(), before.all())
    assert.deepEqual(after.spent(), before.spent())
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  await t.test('loses only the last line if it ends within that line, and accepts more', (t) => {
    const path = file(t)
    const log = new FilePayments(path)
    log.add(payment('A'))
    log.add(payment('B'))
    const whole = readFileSync(path, 'utf8')
    const secondLine = whole.indexOf('\n') + 1
    // Not every length, because each change takes the lock with a process of flock(1).
    for (let length = secondLine + 1; length < whole.length; length += 5) {
      writeFileSync(path, whole.slice(0, length))
      new FilePayments(path).add(payment('C'))
      const ids = new FilePayments(path).all().map(({ transactionId }) => transactionId)
      assert.deepEqual(ids, ['A', 'C'], `cut off at ${length}`)
    }
  })

  await t.test('is refused because of an invalid line, with the number of the line', (t) => {
    const path = file(t)
    new FilePayments(path).add(payment('A'))
    appendFileSync(path, 'hello\n')
    const message = `line 2 of ${path} is not a payment`
    assert.throws(
      () => new FilePayments(path),
      (error) => error instanceof PaymentLogError && error.message === message,
    )
  })

  await t.test('is rewritten when it grows', (t) => {
    const path = file(t)
    const log = new FilePayments(path, { maxPayments: 5 })
    // Twice as many lines as the file may have.
    for (let index = 0; index < 45; index++) {
      log.add(payment(`${index}`))
      log.update(`${index}`, 'settled')
      assert.ok(readFileSync(path, 'utf8').split('\n').length <= 5 * 8 + 3)
    }
    const after = new FilePayments(path, { maxPayments: 5 })
    assert.deepEqual(after.all(), log.all())
    assert.deepEqual([after.spent(), after.spent().microDollars], [log.spent(), 900n])
  })

  await t.test('has every payment that a killed process signed', { timeout: 30_000 }, async (t) => {
    const path = file(t)
    const module = new URL('./FilePayments.js', import.meta.url).href
    const program = `
      import { FilePayments } from ${JSON.stringify(module)}
      const log = new FilePayments(process.argv[1], { maxPayments: 1000 })
      const payment = ${JSON.stringify(payment('X'))}
      for (let index = 0; ; index++) {
        log.add({ ...payment, transactionId: String(index) })
        process.stdout.write(index + '\\n')
      }`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, path])
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.split('\n').length > 50) child.kill('SIGKILL')
    })
    await once(child, 'close')
    const last = output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1)!
    const kept = new FilePayments(path, { maxPayments: 1_000 })
    assert.ok(kept.get(last) !== undefined, `${last} is gone`)
    assert.ok(kept.spent().microDollars >= BigInt(last) * 20n)
  })
})

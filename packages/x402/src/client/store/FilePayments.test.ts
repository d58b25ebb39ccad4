import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Buyer } from '../buyer/Buyer.js'
import { openMarket } from '../buyer/market.test.helper.js'
import { PaymentRefusedError } from '../buyer/PaymentRefusedError.js'
import { FilePayments, isRunningProcess, ownProcess } from './FilePayments.js'
import { type Payment, PaymentLogError } from './Payments.js'

const timeout = 60_000
const module = new URL('./FilePayments.js', import.meta.url).href

function payment(transactionId: string, over: Partial<Payment> = {}): Payment {
  const what = { network: 'algorand:local', url: 'http://shop/a', payTo: 'P', asset: '7', amount: '20' }
  const rest = { microDollars: '20', firstValid: '1', lastValid: '9', signedMs: Date.now(), state: 'open' as const }
  return { transactionId, ...what, ...rest, requestId: 'R', ...over }
}

function newFile(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-payments-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'payments.jsonl')
}

/**
 * Runs a program with a log as `log` and a payment as `payment`. `limit` is the largest file, in blocks of the shell.
 */
function run(t: TestContext, path: string, program: string, limit = 'unlimited'): ChildProcessWithoutNullStreams {
  const text = `
    import { FilePayments } from ${JSON.stringify(module)}
    // Makes a file that is too large an error of the write, like a full disk, instead of ending the process.
    process.on('SIGXFSZ', () => {})
    const payment = ${JSON.stringify(payment('X'))}
    const log = new FilePayments(process.argv[1])
    ${program}`
  const line = `ulimit -f ${limit}; exec "$0" "$@"`
  const child = spawn('sh', ['-c', line, process.execPath, '--input-type=module', '-e', text, path])
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function outputOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  await once(child, 'close')
  return output
}

const networks = ['algorand:local']

const ids = (log: FilePayments): string[] => log.all().map(({ transactionId }) => transactionId)

test('a payment log in a file', async (t) => {
  await t.test('M has only complete lines after a write to a full disk', { timeout }, async (t) => {
    const path = newFile(t)
    // 4 blocks are 2 KiB or 4 KiB, depending on the shell.
    const child = run(
      t,
      path,
      `const failures = []
      let index = 0
      while (failures.length < 3) {
        try {
          log.add({ ...payment, transactionId: 'A' + index++ })
        } catch (error) {
          failures.push(error.code)
          // Shorter than a payment, so there may be room for it.
          try { log.update('A0', 'settled') } catch {}
        }
      }
      console.log(JSON.stringify({ failures, known: log.all().length }))`,
      '4',
    )
    const output = await outputOf(child)
    const { failures, known } = JSON.parse(output)
    assert.deepEqual(new Set(failures), new Set(['payment_log_unwritable']), output)
    const text = readFileSync(path, 'utf8')
    assert.ok(text.endsWith('\n'))
    for (const line of text.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line)
    const after = new FilePayments(path)
    assert.deepEqual([after.all().length, after.spent().microDollars], [known, BigInt(known) * 20n])
    after.add(payment('B'))
    assert.equal(new FilePayments(path).get('B')?.state, 'open')
  })

  await t.test('M has one limit for all instances that use it', { timeout }, async (t) => {
    const { chain, signer, required } = await openMarket(t)
    const path = newFile(t)
    // Two instances share as little as two processes.
    const buyers = [1, 2].map(
      () => new Buyer({ signer, chains: chain, maxTotal: '$0.05', payments: new FilePayments(path) }),
    )
    const results = await Promise.allSettled(
      buyers.flatMap((buyer) => Array.from({ length: 6 }, () => buyer.pay(required))),
    )
    const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    assert.equal(results.length - refused.length, 5)
    assert.ok(refused.every((error) => error instanceof PaymentRefusedError))
    assert.equal(new FilePayments(path).spent().microDollars, 50_000n)
  })

  await t.test('M has one limit for concurrent processes', { timeout }, async (t) => {
    const path = newFile(t)
    const program = `
      for (let index = 0, isLeft = true; isLeft; index++) {
        isLeft = log.exclusive(() => {
          const { microDollars } = log.spent()
          if (microDollars + 20n > 600n) return false
          log.add({ ...payment, transactionId: process.pid + '-' + index })
          return true
        })
      }`
    const outputs = await Promise.all([1, 2, 3].map(() => outputOf(run(t, path, program))))
    assert.deepEqual(outputs, ['', '', ''])
    const log = new FilePayments(path)
    assert.deepEqual([log.spent().microDollars, new Set(ids(log)).size], [600n, 30])
  })

  await t.test('is refused, with nothing recorded, while another process holds it', { timeout }, async (t) => {
    const path = newFile(t)
    const log = new FilePayments(path, { lockMs: 100 })
    const holder = spawn('flock', ['-x', '--no-fork', `${path}.lock`, 'sh', '-c', 'echo held; exec sleep 60'])
    t.after(() => holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    assert.throws(
      () => log.add(payment('A')),
      (error) =>
        error instanceof PaymentLogError && error.code === 'payment_log_locked' && error.message.includes(path),
    )
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    assert.deepEqual(log.all(), [])
    log.add(payment('A'))
    assert.deepEqual(ids(log), ['A'])
  })

  await t.test('is read again when another process has rewritten it', (t) => {
    const path = newFile(t)
    const [one, other] = [new FilePayments(path, { maxPayments: 5 }), new FilePayments(path, { maxPayments: 5 })]
    for (let index = 0; index < 30; index++) {
      one.add(payment(`${index}`))
      one.finish(`${index}`, 'answered')
      assert.deepEqual(ids(other), ids(one))
    }
    other.add(payment('last'))
    assert.equal(one.get('last')?.state, 'open')
    assert.deepEqual([one.spent(), one.spent().microDollars], [other.spent(), 31n * 20n])
  })

  await t.test('is made private', (t) => {
    const path = newFile(t)
    writeFileSync(path, '')
    chmodSync(path, 0o644)
    new FilePayments(path).add(payment('A'))
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  await t.test('a directory or device in its place keeps its mode', (t) => {
    const path = newFile(t)
    mkdirSync(path)
    chmodSync(path, 0o755)
    assert.throws(() => new FilePayments(path).add(payment('A')))
    assert.equal(statSync(path).mode & 0o777, 0o755)
  })

  await t.test('continues after an unfinished line of another process', (t) => {
    const path = newFile(t)
    const log = new FilePayments(path)
    log.add(payment('A'))
    appendFileSync(path, '{"transactionId":"torn')
    log.add(payment('B'))
    assert.deepEqual(
      [ids(log), ids(new FilePayments(path))],
      [
        ['A', 'B'],
        ['A', 'B'],
      ],
    )
  })
})

test('a payment log that was replaced or damaged', async (t) => {
  await t.test(
    'M counts again from the start when its file was replaced twice and has its old number',
    { timeout },
    (t) => {
      const path = newFile(t)
      const options = { maxPayments: 5 }
      const [writer, reader] = [new FilePayments(path, options), new FilePayments(path, options)]
      let count = 0
      const pay = (): void => writer.add(payment(`A${count++}`))
      pay()
      assert.equal(reader.spent().microDollars, 20n)
      // File systems reuse the inode number of a removed file.
      const number = statSync(path).ino
      do pay()
      while (count < 50 || (count < 200 && statSync(path).ino !== number))
      assert.equal(reader.spent().microDollars, 20n * BigInt(count))
      assert.equal(reader.all().length, 5)
    },
  )

  await t.test('M counts again from the start when its content was replaced in place', { timeout }, (t) => {
    const path = newFile(t)
    const [writer, reader] = [new FilePayments(path), new FilePayments(path)]
    writer.add(payment('A1'))
    assert.equal(reader.spent().microDollars, 20n)
    // Lines of the same length: the next one starts where the reader stopped.
    const line = readFileSync(path, 'utf8')
    writeFileSync(path, ['B1', 'B2', 'B3'].map((id) => line.replace('"A1"', `"${id}"`)).join(''))
    assert.deepEqual(ids(reader), ['B1', 'B2', 'B3'])
    assert.equal(reader.spent().microDollars, 60n)
  })

  for (const [name, broken] of [
    ['an amount that is no number', { amount: '2O' }],
    ['a negative amount', { amount: '-20' }],
    ['no amount', { amount: undefined }],
    ['negative dollars', { microDollars: '-20' }],
    ['an unknown state', { state: 'refunded' }],
    ['a round that is no number', { lastValid: 'soon' }],
    ['a list as its network', { network: [] }],
    ['a number as what sends it again', { header: 5 }],
  ] as const) {
    await t.test(`M with ${name} is refused each time, and never counted in part`, { timeout }, (t) => {
      const path = newFile(t)
      const log = new FilePayments(path)
      const lines = [payment('A1'), { ...payment('A2'), ...broken }, payment('A3')]
      writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      for (let index = 0; index < 2; index++) {
        for (const use of [() => log.spent(), () => log.add(payment('A4')), () => new FilePayments(path)]) {
          assert.throws(use, (error: PaymentLogError) => {
            assert.deepEqual([error.name, error.code], ['PaymentLogError', 'invalid_payment_log'])
            assert.match(error.message, /^line 2 of /)
            return true
          })
        }
      }
    })
  }

  await t.test('M with a total that is not a number is refused', { timeout }, (t) => {
    for (const before of [
      5,
      null,
      {},
      { microDollars: '1' },
      { microDollars: '-1', assets: {} },
      { microDollars: '1', assets: { a: 'x' } },
    ]) {
      const path = newFile(t)
      writeFileSync(path, `${JSON.stringify({ before })}\n`)
      assert.throws(() => new FilePayments(path), { code: 'invalid_payment_log' })
    }
  })
})

test('a payment without an answer', async (t) => {
  await t.test('is found by its request, once at a time, until it is answered', (t) => {
    const path = newFile(t)
    const [one, other] = [new FilePayments(path), new FilePayments(path)]
    one.add(payment('A'))
    assert.equal(other.resume('R', networks), undefined, 'it is not signed yet')
    one.keep('A', 'header')
    assert.equal(other.resume('R', networks), undefined, 'an answer is waited for')
    one.finish('A', 'unanswered')
    assert.equal(other.resume('other', networks), undefined)
    assert.equal(other.resume('R', ['algorand:other']), undefined)
    assert.deepEqual(other.resume('R', networks), { payment: one.get('A'), header: 'header' })
    assert.equal(one.resume('R', networks), undefined, 'the other waits for it')
    other.update('A', 'settled')
    other.finish('A', 'unanswered')
    assert.equal(one.resume('R', networks)?.payment.state, 'settled')
    one.finish('A', 'answered')
    assert.equal(other.resume('R', networks), undefined)
    assert.ok(!JSON.stringify(one.all()).includes('header'), 'what sends it again is not listed')
  })

  await t.test('is not sent again if it has expired, or was settled long ago', (t) => {
    const log = new FilePayments(newFile(t))
    const long = Date.now() - 2 * 60 * 60 * 1000
    for (const [id, signedMs] of [
      ['A', Date.now()],
      ['B', long],
      ['C', long],
    ] as const) {
      log.add(payment(id, { signedMs }))
      log.keep(id, id)
      log.finish(id, 'unanswered')
    }
    log.update('A', 'expired')
    log.update('B', 'settled')
    // May still be settled at any age, because only the ledger can decide.
    assert.equal(log.resume('R', networks)?.payment.transactionId, 'C')
    assert.equal(log.resume('R', networks), undefined)
  })

  await t.test('of a killed process is found by the next one', { timeout }, async (t) => {
    const path = newFile(t)
    const child = run(
      t,
      path,
      `log.add({ ...payment, transactionId: 'A' })
      log.keep('A', 'header')
      console.log('sent')
      setInterval(() => {}, 1000)`,
    )
    await once(child.stdout, 'data')
    const log = new FilePayments(path)
    assert.equal(log.resume('R', networks), undefined, 'the process waits for an answer')
    child.kill('SIGKILL')
    await once(child, 'close')
    assert.equal(log.resume('R', networks)?.header, 'header')
  })
})

const skip = process.platform === 'linux' ? false : 'this machine has no /proc'

test('this process is running, and a later process with its number is another one', { skip }, () => {
  assert.equal(isRunningProcess(ownProcess()), true)
  assert.equal(isRunningProcess(`${process.pid} 1`), false)
})

test('a process that has ended is not running, even if its parent never collects it', { skip }, async (t) => {
  // The shell becomes a program that does not know the child of the shell, and so never waits for it.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
  t.after(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string]
  const pid = line.trim()
  const fields = (): string[] =>
    readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
  while (fields()[0] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(isRunningProcess(`${pid} ${fields()[19]}`), false)
})

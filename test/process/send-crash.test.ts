/**
 * Kills `latchkey send` at any moment and runs the same command again: it completes, and its amount is paid once. The
 * moments use the seed of all random cases; LATCHKEY_CRASH_ROUNDS sets the number of kills.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { suiteScope } from './commands.test.helper.js'
import { Money } from './money.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 20)
/** When a command is killed: a time after its start, or when it has printed the id, which it does before sending. */
type Moment = number | 'id'
const moments = fc.sample(fc.oneof(fc.constant<Moment>('id'), fc.integer({ min: 50, max: 900 })), {
  numRuns: rounds,
  seed: fc.readConfigureGlobal().seed ?? 1,
})

type Record = { readonly id: string; readonly isOpen: boolean }

suite('latchkey send, killed', { timeout: 900_000 }, () => {
  const scope = suiteScope()
  let money: Money

  before(async () => {
    money = await Money.start(scope)
  })

  const commandFor = (amount: string): string[] => {
    return ['send', amount, money.accounts.bob.address, '-w', 'spending', '--yes']
  }

  const records = (): Record[] => {
    const file = join(money.home, '.latchkey', 'transactions.jsonl')
    const text = existsSync(file) ? readFileSync(file, 'utf8').trimEnd() : ''
    if (text === '') return []
    return text.split('\n').map((line) => JSON.parse(line) as Record)
  }

  /** @returns whether the command has reported the outcome and closed its record */
  const killAt = async (moment: Moment, amount: string): Promise<boolean> => {
    const child = spawn(process.execPath, [latchkeyCommand, ...commandFor(amount)], {
      env: { ...money.environment, KMD_PASSWORD_FILE: join(money.home, 'password') },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const known = records().length
    const closed = once(child, 'close')
    if (moment === 'id') child.stdout.once('data', () => child.kill('SIGKILL'))
    else setTimeout(() => child.kill('SIGKILL'), moment)
    child.stdout.resume()
    await closed
    return records().length > known && !records().at(-1)!.isOpen
  }

  for (const [index, moment] of moments.entries()) {
    const when = moment === 'id' ? 'when the id is printed' : `${moment} ms after its start`
    test(`killed ${when}, and run again (${index + 1})`, async () => {
      const { bob } = money.accounts
      const amount = `${index + 1}.5 ALGO`
      const before = await money.microAlgos(bob.address)
      const hasEnded = await killAt(moment, amount)
      if (!hasEnded) {
        const again = await money.runAlone(commandFor(amount))
        assert.equal(again.code, 0, again.stderr)
      }
      assert.equal((await money.microAlgos(bob.address)) - before, (index + 1.5) * 1_000_000)
      assert.ok(records().every(({ isOpen }) => !isOpen))
      // A reported outcome is final: the same command is a new payment now.
      assert.equal(new Set(records().map(({ id }) => id)).size, records().length)
    })
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KmdError } from '../errors.js'
import { BlankPasswords } from './BlankPasswords.js'

/** A check that counts its runs, and waits until the test ends it. */
function slowCheck() {
  const endings: ((outcome: string | Error) => void)[] = []
  const check = (): Promise<string> =>
    new Promise((resolve, reject) => {
      endings.push((outcome) => (typeof outcome === 'string' ? resolve(outcome) : reject(outcome)))
    })
  return { check, endings }
}

const stored = Buffer.from('a wrapped master key')
const wrong = (): KmdError => new KmdError('wrong_password')
const turn = (): Promise<void> => new Promise(setImmediate)
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'right',
    (error: KmdError) => error.code,
  )

test('a wrong blank password is derived once while the wallet has the same wrapped key', async () => {
  const blanks = new BlankPasswords()
  let derived = 0
  const check = async (): Promise<never> => {
    derived++
    throw wrong()
  }
  for (let i = 0; i < 5; i++) assert.equal(await codeOf(blanks.attempt('w', stored, check)), 'wrong_password')
  assert.equal(derived, 1)
  await codeOf(blanks.attempt('w', Buffer.from('wrapped again'), check))
  await codeOf(blanks.attempt('other', stored, check))
  assert.equal(derived, 3)
  assert.equal(await codeOf(blanks.attempt('w', Buffer.from('now it is blank'), async () => 'key')), 'right')
})

test('probes that arrive together wait for one derivation', async () => {
  const blanks = new BlankPasswords()
  const { check, endings } = slowCheck()
  const probes = Array.from({ length: 20 }, () => codeOf(blanks.attempt('w', stored, check)))
  await turn()
  assert.equal(endings.length, 1)
  endings[0]!(wrong())
  assert.deepEqual(await Promise.all(probes), new Array(20).fill('wrong_password'))
  assert.equal(endings.length, 1)
})

test('a correct blank password is checked by each probe', async () => {
  const blanks = new BlankPasswords()
  const { check, endings } = slowCheck()
  const probes = Array.from({ length: 3 }, () => codeOf(blanks.attempt('w', stored, check)))
  await turn()
  endings[0]!('key')
  await turn()
  assert.equal(endings.length, 3)
  for (const end of endings.slice(1)) end('key')
  assert.deepEqual(await Promise.all(probes), ['right', 'right', 'right'])
})

test('another error says nothing about the password, and the next probe derives', async () => {
  const blanks = new BlankPasswords()
  const { check, endings } = slowCheck()
  const probes = [1, 2].map(() => codeOf(blanks.attempt('w', stored, check)))
  await turn()
  endings[0]!(new KmdError('derivation_busy'))
  await turn()
  endings[1]!(wrong())
  assert.deepEqual(await Promise.all(probes), ['derivation_busy', 'wrong_password'])
})

test('the number of remembered wallets is bounded', async () => {
  const blanks = new BlankPasswords({ limit: 2 })
  let derived = 0
  const probe = (wallet: string): Promise<string> =>
    codeOf(
      blanks.attempt(wallet, stored, async () => {
        derived++
        throw wrong()
      }),
    )
  for (const wallet of ['a', 'b', 'c', 'b', 'c', 'a']) await probe(wallet)
  assert.equal(derived, 4)
})

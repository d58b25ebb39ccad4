import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WalletTurns } from './WalletTurns.js'

test('changes of one wallet run one after another, even after one that failed', async () => {
  const turns = new WalletTurns()
  const order: string[] = []
  const work =
    (name: string, fails = false) =>
    async (): Promise<string> => {
      order.push(`${name} begins`)
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
      order.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const failing = turns.run('one', work('grant', true))
  const results = [turns.run('one', work('delete')), turns.run('two', work('other')), turns.run('one', work('last'))]
  await assert.rejects(failing, /grant/)
  assert.deepEqual(await Promise.all(results), ['delete', 'other', 'last'])
  const ofOne = order.filter((step) => !step.startsWith('other'))
  const expected = ['grant', 'delete', 'last'].flatMap((name) => [`${name} begins`, `${name} ends`])
  assert.deepEqual(ofOne, expected)
  assert.ok(order.indexOf('other begins') < order.indexOf('grant ends'), 'another wallet does not wait')
})

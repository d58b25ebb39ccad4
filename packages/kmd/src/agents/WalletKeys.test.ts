import assert from 'node:assert/strict'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { openState } from '../state/openState.js'
import { openWallets, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { key, limit, pay, rulesOf } from './AgentFixture.test.helper.js'
import { WalletTurns } from './WalletKeys.js'

/** An agent of a real wallet, and the changes that another program could make to its file. */
async function open(t: TestContext) {
  const { wallets, directory } = openWallets(t)
  const password = Buffer.from('secret')
  const { id } = await wallets.create({ name: Buffer.from('w'), password, masterDerivationKey: Buffer.alloc(0) })
  const walletId = id.toString('latin1')
  const entry = await wallets.find(walletId)
  await wallets.unlock(entry, Buffer.from('secret'), (wallet) => {
    wallet.importKey(Buffer.from(key.privateKey.subarray(0, 32)))
    wallet.lock()
  })
  const { agents, close } = openState({ directory: temporaryDirectory(t), wallets })
  t.after(close)
  const rules = rulesOf([limit('total', 100n)])
  const { agent, token } = await agents.create({ name: 'x', walletId, keys: [key], rules, expiresAtMs: undefined })
  const sign = async (): Promise<Uint8Array> => {
    const session = agents.authenticate(token)!
    return agents.sign(session, pay(1n), key.publicKey, {}).finally(() => agents.release(session))
  }
  return { agents, agent, sign, file: entry.path, directory }
}

test('a key that another program deletes from the wallet ends the agent at its next signature', async (t) => {
  const { agents, agent, sign, file } = await open(t)
  await sign()
  const other = new DatabaseSync(file)
  other.exec('DELETE FROM keys')
  other.close()
  await assert.rejects(sign(), { code: 'agent_ended' })
  assert.equal(agents.find(agent.id).state, 'key_deleted')
})

test('a missing wallet file ends its agents', async (t) => {
  const { agents, agent, sign, file, directory } = await open(t)
  await sign()
  renameSync(file, join(directory, 'away'))
  await agents.tidy()
  assert.equal(agents.find(agent.id).state, 'wallet_deleted')
  await assert.rejects(sign(), { code: 'agent_ended' })
})

test('an unreadable wallet ends no agent, and nothing is signed for it', async (t) => {
  const { agents, agent, sign, file } = await open(t)
  await sign()
  const content = readFileSync(file)
  writeFileSync(file, Buffer.concat([Buffer.from('not a database'), content.subarray(14)]))
  await assert.rejects(sign())
  await agents.tidy()
  assert.equal(agents.find(agent.id).state, 'active')
  writeFileSync(file, content)
  // The wallet list is at most two seconds old.
  for (let tries = 0; tries < 100 && !(await sign().catch(() => undefined)); tries++) await sleep(100)
  await sign()
})

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

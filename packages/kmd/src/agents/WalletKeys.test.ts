import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ed25519 } from '@latchkey/algorand'
import { DatabaseSync } from '@photostructure/sqlite'
import { openState } from '../state/openState.js'
import { openWallets, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { key, limit, openAgents, pay, rulesOf } from './AgentFixture.test.helper.js'
import { sealKey, signWithSealedKey, WalletTurns } from './AgentStore.js'
import * as AgentToken from './AgentToken.js'

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

/** The wallet list is at most two seconds old. */
async function untilSigned(sign: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 100 && !(await sign().catch(() => undefined)); tries++) await sleep(100)
  await sign()
}

test('nothing is signed while a key is missing from the wallet, and the agent does not end', async (t) => {
  const { agents, agent, sign, file } = await open(t)
  await sign()
  const content = readFileSync(file)
  const other = new DatabaseSync(file)
  other.exec('DELETE FROM keys')
  other.close()
  await assert.rejects(sign(), { code: 'agent_keys_missing' })
  await agents.tidy()
  assert.equal(agents.find(agent.id).state, 'active')
  writeFileSync(file, content)
  await untilSigned(sign)
})

test('nothing is signed while the wallet file is away, and the agent signs again once it is back', async (t) => {
  const { agents, agent, sign, file, directory } = await open(t)
  await sign()
  renameSync(file, join(directory, 'away'))
  await agents.tidy()
  await assert.rejects(sign(), { code: 'agent_keys_missing' })
  await assert.rejects(agents.requireKeys(agent.id), { code: 'agent_keys_missing' })
  assert.equal(agents.find(agent.id).state, 'active')
  renameSync(join(directory, 'away'), file)
  await untilSigned(sign)
  assert.equal(agents.find(agent.id).state, 'active')
})

test('a wallet deleted by an operation ends its agents, also while its file is away', async (t) => {
  const { agents, agent, sign, file, directory } = await open(t)
  await sign()
  renameSync(file, join(directory, 'away'))
  await assert.rejects(sign(), { code: 'agent_keys_missing' })
  await agents.walletDeleted(agent.walletId)
  renameSync(join(directory, 'away'), file)
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
  await untilSigned(sign)
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

const contentOf = (directory: string): Buffer[] =>
  readdirSync(directory).map((name) => readFileSync(join(directory, name)))
const has = (directory: string, bytes: Uint8Array): boolean =>
  contentOf(directory).some((content) => content.includes(Buffer.from(bytes)))

test('a sealed key signs only with its sealing key, and only for its public key', () => {
  const [sealingKey, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const sealed = sealKey(key.privateKey, sealingKey)
  const message = Buffer.from('message')
  assert.ok(Ed25519.verify(signWithSealedKey(sealed, sealingKey, key.publicKey, message), message, key.publicKey))
  const wrong: [Uint8Array, Uint8Array, Uint8Array][] = [
    [sealed, other, key.publicKey],
    [sealed, sealingKey, new Uint8Array(32)],
    [sealed.subarray(1), sealingKey, key.publicKey],
    [Buffer.alloc(0), sealingKey, key.publicKey],
  ]
  for (const [box, under, publicKey] of wrong) {
    assert.throws(() => signWithSealedKey(box, under, publicKey, message), { code: 'agent_ended' })
  }
  for (let at = 0; at < sealed.length; at++) {
    const altered = Buffer.from(sealed)
    altered[at]! ^= 1
    assert.throws(
      () => signWithSealedKey(altered, sealingKey, key.publicKey, message),
      { code: 'agent_ended' },
      `${at}`,
    )
  }
})

test('neither key, token nor secret is in the files, nor the sealed key after a revocation', async (t) => {
  const { create, agents, directory, sign, database } = openAgents(t)
  const { id, token } = await create([limit('total', 10n)])
  await sign(token, pay(1n))
  const { sealed } = database.statement('SELECT sealed FROM agent_keys').get() as { sealed: Uint8Array }
  assert.ok(has(directory, sealed), 'the test looks in the wrong place')
  const { secret } = AgentToken.parse(token)!
  for (const bytes of [key.privateKey.subarray(0, 32), secret, Buffer.from(token), Buffer.from(token.slice(16))]) {
    assert.ok(!has(directory, bytes))
  }
  await agents.revoke(id)
  assert.ok(!has(directory, sealed))
  assert.ok(!has(directory, sealed.subarray(24, 56)))
})

test('a rotation erases the keys that the old token sealed', async (t) => {
  const { create, agents, directory, database } = openAgents(t)
  const { id } = await create([limit('total', 10n)])
  const { sealed } = database.statement('SELECT sealed FROM agent_keys').get() as { sealed: Uint8Array }
  await agents.rotate(id, [key])
  assert.ok(!has(directory, sealed))
})

test('neither the files without the token nor the token without the files can sign', async (t) => {
  const first = openAgents(t)
  const { id, token } = await first.create([limit('total', 10n)])
  const copy = temporaryDirectory(t)
  await first.close()
  cpSync(first.directory, copy, { recursive: true })
  const stolen = openAgents(t, copy)
  assert.equal(stolen.agents.authenticate(AgentToken.create(id).token), undefined)
  const { verifier } = stolen.database.statement('SELECT verifier FROM agents').get() as { verifier: Uint8Array }
  const forged = { agentId: id, sealingKey: Buffer.alloc(32), verifier: Buffer.from(verifier) }
  await assert.rejects(stolen.agents.sign(forged, pay(1n), key.publicKey, {}), { code: 'agent_ended' })
  assert.equal(openAgents(t).agents.authenticate(token), undefined)
})

import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ed25519 } from '@latchkey/algorand'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { key, limit, openAgents, pay } from './AgentFixture.test.helper.js'
import * as AgentToken from './AgentToken.js'
import * as SealedKeys from './SealedKeys.js'

const contentOf = (directory: string): Buffer[] =>
  readdirSync(directory).map((name) => readFileSync(join(directory, name)))
const has = (directory: string, bytes: Uint8Array): boolean =>
  contentOf(directory).some((content) => content.includes(Buffer.from(bytes)))

test('a sealed key signs only with its sealing key, and only for its public key', () => {
  const [sealingKey, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const sealed = SealedKeys.seal(key.privateKey, sealingKey)
  const message = Buffer.from('message')
  assert.ok(Ed25519.verify(SealedKeys.sign(sealed, sealingKey, key.publicKey, message), message, key.publicKey))
  const wrong: [Uint8Array, Uint8Array, Uint8Array][] = [
    [sealed, other, key.publicKey],
    [sealed, sealingKey, new Uint8Array(32)],
    [sealed.subarray(1), sealingKey, key.publicKey],
    [Buffer.alloc(0), sealingKey, key.publicKey],
  ]
  for (const [box, under, publicKey] of wrong) {
    assert.throws(() => SealedKeys.sign(box, under, publicKey, message), { code: 'agent_ended' })
  }
  for (let at = 0; at < sealed.length; at++) {
    const altered = Buffer.from(sealed)
    altered[at]! ^= 1
    assert.throws(() => SealedKeys.sign(altered, sealingKey, key.publicKey, message), { code: 'agent_ended' }, `${at}`)
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

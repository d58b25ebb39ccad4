import assert from 'node:assert/strict'
import { hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import * as AgentToken from './AgentToken.js'

test('a token has the form that secret scanners look for, and can be parsed', () => {
  const { token, id, secret } = AgentToken.create()
  assert.match(token, /^lka_[A-Za-z0-9_-]{60}$/)
  assert.deepEqual(AgentToken.parse(token), { id, secret })
  assert.equal(id.length, 12)
  assert.equal(secret.length, 32)
})

test('a token with any character changed is rejected', () => {
  const { token } = AgentToken.create()
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    assert.equal(AgentToken.parse(token.slice(0, at) + other + token.slice(at + 1)), undefined, `at ${at}`)
  }
  for (const text of ['', 'lka_', token.slice(1), `${token}A`, ` ${token}`, `${token}\n`]) {
    assert.equal(AgentToken.parse(text), undefined)
  }
})

test('verifier and sealing key differ, and depend on id and secret', () => {
  const [first, second] = [AgentToken.create(), AgentToken.create()]
  const all = [first, second, { ...first, id: second.id }]
  const keys = all.map(AgentToken.derive).flatMap(({ verifier, sealingKey }) => [verifier, sealingKey])
  assert.equal(new Set(keys.map((bytes) => bytes.toString('hex'))).size, 6)
  assert.deepEqual(AgentToken.derive(first), AgentToken.derive(first))
})

test("the keys equal those of Node's HKDF", () => {
  const { id, secret } = AgentToken.create()
  const hkdf = (info: string): Buffer => Buffer.from(hkdfSync('sha256', secret, Buffer.from(id, 'base64url'), info, 32))
  const { verifier, sealingKey } = AgentToken.derive({ id, secret })
  assert.deepEqual(verifier, hkdf('latchkey agent verifier'))
  assert.deepEqual(sealingKey, hkdf('latchkey agent sealing key'))
})

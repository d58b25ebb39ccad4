import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentTokenFrom } from './agentToken.js'

test('a token comes from the file or else from the environment, and the owner’s is refused', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-agent-token-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = (content: string): string => {
    const path = join(directory, 'token')
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const [one, other] = [`lka_${'a'.repeat(60)}`, `lka_${'b'.repeat(60)}`]
  assert.equal(agentTokenFrom(file(`${one}\n`), { LATCHKEY_AGENT_TOKEN: other }), one)
  assert.equal(agentTokenFrom(undefined, { LATCHKEY_AGENT_TOKEN: other }), other)
  assert.equal(agentTokenFrom(undefined, {}), undefined)
  assert.throws(() => agentTokenFrom(file('0a'.repeat(32)), {}), {
    code: 'agent_token_required',
    message: /contains the owner's API token, which agents must not have$/,
  })
  for (const content of ['', 'lka_short', `${one}x`, '25 words', 'x'.repeat(60)]) {
    assert.throws(() => agentTokenFrom(file(content), {}), { code: 'agent_token_required' }, content)
  }
  assert.throws(() => agentTokenFrom(file('x'.repeat(5_000)), {}), { code: 'file_unreadable' })
  assert.throws(() => agentTokenFrom(join(directory, 'none'), {}), { code: 'file_unreadable' })
})

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { shells } from './Completions.js'

const commands = [
  { name: 'agent list', summary: 'list', options: {} },
  {
    name: 'agent show',
    summary: 'show',
    options: { network: { type: 'string', suggestions: ['testnet', 'local'], description: 'n' } },
    positionals: [{ name: 'NAME', completes: 'agent' }],
  },
  { name: 'trigger', summary: 't', options: {}, positionals: [{ name: 'EVENT', choices: ['settled', 'refused'] }] },
] as const

const isBashMissing = spawnSync('bash', ['--version']).error !== undefined && process.env['CI'] !== 'true'

/** Completes the last of the words as bash would, with a daemon that has two agents. */
function complete(...words: string[]): string[] {
  const script = `${shells.bash(commands)}
latchkey() { printf 'shopper  active\\nbuyer-2  paused\\n$(touch pwned)x  active\\n'; }
COMP_WORDS=(${['latchkey', ...words].map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_latchkey
printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' })
  return printed.split('\n').filter((line) => line !== '')
}

test('bash completes values, suggestions and the names of agents', {
  skip: isBashMissing && 'bash is not installed',
}, () => {
  assert.deepEqual(complete('trigger', ''), ['settled', 'refused'])
  assert.deepEqual(complete('trigger', 'se'), ['settled'])
  assert.deepEqual(complete('agent', ''), ['list', 'show'])
  assert.deepEqual(complete('agent', 'show', ''), ['shopper', 'buyer-2'])
  assert.deepEqual(complete('agent', 'show', 'sh'), ['shopper'])
  assert.deepEqual(complete('agent', 'show', '--network', 'l'), ['local'])
})

test('zsh and fish get the same values', () => {
  for (const shell of [shells.zsh, shells.fish]) {
    const script = shell(commands)
    for (const word of ['settled refused', 'testnet local', 'latchkey agent list 2>/dev/null']) {
      assert.ok(script.includes(word), word)
    }
  }
})

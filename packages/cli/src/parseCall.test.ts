import assert from 'node:assert/strict'
import { test } from 'node:test'
import { command } from './Command.js'
import type { UsageError } from './errors.js'
import { parseCall } from './parseCall.js'

const sample = command({
  description: 'a command',
  positionals: [{ name: 'NAME' }, { name: 'SHELL', isOptional: true, choices: ['bash', 'fish'] }],
  options: {
    wire: { type: 'string', choices: ['documented', 'reference'], description: '' },
    'mnemonic-file': { type: 'string', aliases: ['words-file'], description: '' },
    node: { type: 'string', multiple: true, description: '' },
    yes: { type: 'boolean', short: 'y', description: '' },
  },
  examples: [],
  run: async () => 0,
})

function rejects(args: string, code: string, message: string, hint?: string): void {
  assert.throws(
    () => parseCall(sample, args.split(' ')),
    (error: UsageError) => {
      assert.deepEqual([error.code, error.message, error.hint], [code, message, hint])
      return true
    },
  )
}

test('parses options, repeated options and arguments', () => {
  const { options, args } = parseCall(sample, ['n', '-y', '--node', 'a', '--node=b', '--wire', 'reference', 'bash'])
  assert.deepEqual({ ...options }, { yes: true, node: ['a', 'b'], wire: 'reference' })
  assert.deepEqual(args, ['n', 'bash'])
})

test('accepts an alias of an option', () => {
  assert.equal(parseCall(sample, ['n', '--words-file', 'x']).options['mnemonic-file'], 'x')
})

test('a value that begins with a dash needs an equals sign', () => {
  assert.equal(parseCall(sample, ['n', '--mnemonic-file=-x']).options['mnemonic-file'], '-x')
  assert.equal(parseCall(sample, ['n', '--mnemonic-file', '-']).options['mnemonic-file'], '-')
  rejects('n --mnemonic-file -x', 'invalid_value', '--mnemonic-file needs a value')
})

test('suggests the nearest option', () => {
  rejects('n --wier reference', 'unknown_option', 'unknown option --wier', 'did you mean --wire?')
  rejects('n --mnemonicfile x', 'unknown_option', 'unknown option --mnemonicfile', 'did you mean --mnemonic-file?')
  rejects('n --hlep', 'unknown_option', 'unknown option --hlep', 'did you mean --help?')
  rejects('n --nonsense', 'unknown_option', 'unknown option --nonsense')
  rejects('n -q', 'unknown_option', 'unknown option -q')
  rejects('n --__proto__', 'unknown_option', 'unknown option --__proto__')
})

test('suggests the nearest of fixed choices', () => {
  rejects('n --wire documentd', 'invalid_value', '--wire must be documented or reference', 'did you mean documented?')
  rejects('n --wire none', 'invalid_value', '--wire must be documented or reference')
  rejects('n fihs', 'invalid_value', 'SHELL must be bash or fish', 'did you mean fish?')
})

test('rejects a missing value, an unwanted value, and missing or surplus arguments', () => {
  rejects('n --wire', 'invalid_value', '--wire needs a value')
  rejects('n --yes=1', 'invalid_value', '--yes takes no value')
  rejects('--yes', 'invalid_usage', 'NAME is missing')
  rejects('n bash c', 'invalid_usage', 'unexpected argument "c"')
})

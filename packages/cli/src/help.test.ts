import assert from 'node:assert/strict'
import { test } from 'node:test'
import { help, terminalWidth } from './help.js'
import { helpTopics } from './helpTopics.js'
import { registry } from './registry.js'

test('the help of every command and topic fits the width, and no word is split', async () => {
  for (const width of [60, 80, 110]) {
    const texts = await Promise.all(
      registry.map(async ({ name, load }) => [name, help(name, await load(), width)] as const),
    )
    texts.push(...Object.entries(helpTopics).map(([name, { text }]) => [name, text(width)] as const))
    const whole = Object.fromEntries(
      await Promise.all(registry.map(async ({ name, load }) => [name, help(name, await load(), 10_000)] as const)),
    )
    for (const [name, text] of texts) {
      for (const line of text.split('\n')) assert.ok(line.length <= width, `${name} at ${width}: ${line}`)
      const words = (of: string): string[] => of.split(/\s+/).filter((word) => word !== '\\')
      if (whole[name] !== undefined) assert.deepEqual(words(text), words(whole[name]), name)
    }
  }
})

test('a wrapped example can be copied to a shell', async () => {
  const command = {
    description: 'x',
    options: {},
    examples: [
      `latchkey pay --header 'Accept: text/plain' --max '$0.05' https://example.com/weather --output weather.txt`,
    ],
    run: async () => 0,
  }
  const [, example] = /Example:\n([\s\S]*?)\n\n/.exec(help('pay', command as never, 60))!
  assert.ok(example!.includes(' \\\n'))
  assert.ok(example!.includes(`'Accept: text/plain'`), 'a quoted word stays whole')
  assert.equal(example!.replaceAll(/ \\\n +/g, ' ').trim(), command.examples[0])
})

test('the width is that of the terminal, within bounds', () => {
  assert.equal(terminalWidth({ isTTY: true, columns: 72 }), 72)
  assert.equal(terminalWidth({ isTTY: true, columns: 300 }), 110)
  assert.equal(terminalWidth({ isTTY: true, columns: 10 }), 40)
  assert.equal(terminalWidth({ isTTY: true, columns: 0 }), 80)
  assert.equal(terminalWidth({ columns: 72 }), 80)
})

test('the help of facilitator migrate names only databases that it migrates', async () => {
  const { load } = registry.find(({ name }) => name === 'facilitator migrate')!
  const text = help('facilitator migrate', await load(), 200)
  assert.match(text, /--store ADDRESS +PostgreSQL database to migrate: postgres:\/\/USER@HOST\/DATABASE/)
  assert.doesNotMatch(text, /facilitator\.db/)
})

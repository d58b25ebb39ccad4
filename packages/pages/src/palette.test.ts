/** Holds the colours of the paywall and of the seller's page to those of the console. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { salesStyle } from './salesStyle.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

type Colors = { readonly [name: string]: string }

/** The custom properties of a rule, with colours in six digits. */
function colorsIn(css: string): Colors {
  const found = [...css.matchAll(/--([a-z-]+):\s*(#[0-9a-f]{3,6})\b/g)]
  return Object.fromEntries(found.map(([, name, color]) => [name!, inSixDigits(color!)]))
}

function inSixDigits(color: string): string {
  return color.length === 4 ? color.replace(/[0-9a-f]/g, '$&$&') : color
}

function schemesIn(css: string): [light: Colors, dark: Colors] {
  const [light, dark] = css.split('@media (prefers-color-scheme: dark)')
  return [colorsIn(light!), colorsIn(dark!.slice(0, dark!.indexOf('*')))]
}

const [light, dark] = schemesIn(read('console/styles/base.css'))

/** By the name in the paywall. */
const names: { readonly [name: string]: string } = {
  paper: 'paper',
  card: 'raised',
  ink: 'ink',
  quiet: 'soft',
  line: 'rule',
  edge: 'rule-strong',
  accent: 'accent',
  'on-accent': 'accent-ink',
  bad: 'danger',
  good: 'accent',
}

test('the paywall has the colours of the console', () => {
  const found = [...read('paywall/firstPaint.css').matchAll(/--([a-z-]+): light-dark\((#\w+), (#\w+)\)/g)]
  assert.deepEqual(found.map(([, name]) => name).sort(), Object.keys(names).sort())
  for (const [, name, day, night] of found) {
    assert.deepEqual([inSixDigits(day!), inSixDigits(night!)], [light[names[name!]!], dark[names[name!]!]], name)
  }
})

test("the seller's page has the colours of the console", () => {
  for (const [colors, own] of [
    [schemesIn(salesStyle)[0], light],
    [schemesIn(salesStyle)[1], dark],
  ] as const) {
    assert.ok(Object.keys(colors).length >= 8)
    for (const [name, color] of Object.entries(colors)) assert.equal(color, own[name], name)
  }
})

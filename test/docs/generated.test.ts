/** The reference pages are built from the code, completely, and every link on every page resolves. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { errors } from '@latchkey/kmd'
import { Chain, createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { startDevnet } from '../devnet/start.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import * as Committed from './Blocks.test.helper.js'
import { buildReference, isReference, loadScript, referenceNames } from './Reference.test.helper.js'

type Registry = { readonly [code: string]: { readonly message: string; readonly hint: string } }

const reference = await buildReference()
const textOf = (page: string): string => (isReference(page) ? reference.textOf(page) : Committed.textOf(page))
const apiPages = reference.pages.filter((page) => page.startsWith('docs/api/'))

test('git ignores every reference page, and no other page', () => {
  const ignored = Committed.textOf('.gitignore')
    .split('\n')
    .filter((line) => line.startsWith('docs/'))
  assert.deepEqual(ignored.sort(), [...referenceNames, 'docs/api/'].sort())
  assert.deepEqual(
    reference.pages.filter((page) => !apiPages.includes(page)).sort(),
    ignored.filter((page) => page !== 'docs/api/'),
  )
})

test('the API reference has a page for every entry of every package', async () => {
  const { apiEntries } = await loadScript<{ apiEntries: () => { page: string }[] }>('api-docs/entries.mjs')
  const expected = ['README.md', ...apiEntries().map(({ page }) => page)]
  assert.ok(expected.length > 35)
  assert.deepEqual([...apiPages].sort(), expected.map((name) => `docs/api/${name}`).sort())
})

test('the header of an entry introduces its page, and describes no export', () => {
  for (const page of apiPages) {
    const text = textOf(page)
    const [, introduction] = /^# [^\n]+\n\n(.+?)(?:\n\n|$)/s.exec(text)!
    assert.equal(text.split(introduction!).length, 2, `${page} repeats: ${introduction}`)
  }
})

test('docs/cli.md has a section with the usage of every command', async () => {
  const { registry } = (await import('../../../packages/cli/dist/registry.js' as string)) as {
    registry: readonly { name: string }[]
  }
  const sections = new Map(
    textOf('docs/cli.md')
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section]),
  )
  assert.ok(registry.length > 30)
  for (const name of ['kmd', ...registry.map((command) => `latchkey ${command.name}`)]) {
    assert.match(sections.get(name) ?? '', /usage:/i, name)
  }
})

test('docs/payment-errors.md lists every code once, with its meaning and its fix', async () => {
  const { paymentErrors } = await loadScript<{ paymentErrors: object }>(
    '../packages/x402/dist/facilitator/PaymentError.js',
  )
  const rows = [...textOf('docs/payment-errors.md').matchAll(/^\| `([a-z_]+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
  assert.deepEqual(rows.map(([, code]) => code).sort(), Object.keys(paymentErrors).sort())
  for (const [, code, meaning, fix] of rows) assert.ok(meaning!.trim() !== '' && fix!.trim() !== '', code)
})

test('every package with an entry exports its error registry, each error with a message and a hint', async () => {
  const { registries } = await loadScript<{ registries: () => Promise<Map<string, Registry>> }>('docs-errors.mjs')
  const found = await registries()
  const page = textOf('docs/errors.md')
  assert.ok(found.size >= 9, [...found.keys()].join(', '))
  for (const [name, errors] of found) {
    for (const [code, { message, hint }] of Object.entries(errors)) {
      assert.match(code, /^[a-z][a-z0-9_]*$/, name)
      assert.ok(message !== '' && hint !== '', `${name}: ${code}`)
      assert.ok(page.includes(`\n| \`${code}\` |`), `docs/errors.md does not list ${code}`)
    }
    if (!existsSync(join(root, 'packages', name.replace('@latchkey/', ''), 'dist', 'index.js'))) continue
    const entry = (await import(name)) as { errors?: Registry }
    assert.deepEqual(entry.errors, errors, `${name} does not export its registry as errors`)
  }
})

test('every export of every package is documented', async () => {
  const { undocumented } = await loadScript<{ undocumented: () => string[] }>('api-docs/pages.mjs')
  assert.deepEqual(undocumented(), [])
})

test('docs/http.md names the source of every daemon error', () => {
  const page = textOf('docs/http.md')
  const sent = Object.entries(errors).filter(([, entry]) => 'status' in entry)
  const missing = sent.map(([code]) => code).filter((code) => !page.includes(`\`${code}\``))
  assert.deepEqual(missing, [], 'name them in scripts/docs-http.mjs')
})

test('docs/http.md lists every path of the facilitator, and no other', async (t) => {
  const devnet = await startDevnet(t)
  const chain = await Chain.open({ network: 'local', nodes: devnet.url })
  const facilitator = new Facilitator({ chains: [chain], discovery: {} })
  t.after(() => facilitator.stop())
  const handler = createFacilitatorHandler({ facilitator })
  const ask = (method: string, path: string): Promise<Response> =>
    handler(new Request(`http://facilitator.example${path}`, { method }))
  const section = textOf('docs/http.md').split('## The facilitator')[1]!.split('\n## ')[0]!
  const listed = [...section.matchAll(/^\| `([A-Z]+)` \| `(\S+)` \|/gm)]
  for (const [, method, path] of listed) assert.ok(![404, 405].includes((await ask(method!, path!)).status), path)
  const notFound = await (await ask('GET', '/nowhere')).text()
  const [, served] = /the endpoints are ([^"]*)/.exec(notFound)!
  assert.deepEqual(
    listed.map(([, , path]) => path),
    served!.split(', '),
  )
})

/** Pages of people outside a clone. */
const startPages = readdirSync(join(root, 'docs', 'start'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/start/${name}`)
const committed = ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...Committed.pages(), ...startPages]

test('links lead to pages and headings that exist', async (t) => {
  for (const page of [...committed, ...reference.pages]) {
    await t.test(page, () => {
      for (const { link, target, anchor } of linksOf(page)) {
        const isThere = isReference(target) ? reference.pages.includes(target) : existsSync(join(root, target))
        assert.ok(isThere, `${link} leads nowhere`)
        if (anchor === undefined) continue
        const file = target.endsWith('.md') ? target : join(target, 'README.md')
        assert.ok(anchor === 'readme' || anchorsOf(file).has(anchor), `${link}: ${file} has no such heading`)
      }
    })
  }
})

test('of the committed pages, only docs/README.md links to pages that must be built, and it says how to build them', () => {
  const linking = committed.filter((page) => linksOf(page).some(({ target }) => isReference(target)))
  assert.deepEqual(linking, ['docs/README.md'])
  const section = textOf('docs/README.md').split('\n## Reference\n')[1]?.split('\n## ')[0]
  assert.match(section!, /npm run docs/)
  for (const page of [...referenceNames, 'docs/api/README.md']) {
    assert.ok(section!.includes(`](${page.replace('docs/', '')})`), page)
  }
})

test('a list of contents names every section of its page, in order', () => {
  let checked = 0
  for (const page of committed.filter((one) => one.startsWith('docs/'))) {
    const [introduction, ...rest] = textOf(page)
      .replaceAll(/^```.*?^```$/gms, '')
      .split(/^## /m)
    const sections = rest.map((section) => section.split('\n')[0]!)
    const listed = [...introduction!.matchAll(/^- \[([^\]]+)\]\(#/gm)].map(([, name]) => name!)
    if (listed.length === 0) continue
    checked++
    assert.deepEqual(listed, sections, page)
  }
  assert.ok(checked > 15, String(checked))
})

test('docs/troubleshooting.md explains codes that exist', async () => {
  const { registries } = await loadScript<{ registries: () => Promise<Map<string, Registry>> }>('docs-errors.mjs')
  const { paymentErrors } = await loadScript<{ paymentErrors: object }>(
    '../packages/x402/dist/facilitator/PaymentError.js',
  )
  const known = new Set([...(await registries()).values(), paymentErrors].flatMap((registry) => Object.keys(registry)))
  const codes = [...textOf('docs/troubleshooting.md').matchAll(/^\| `([a-z0-9]+(?:_[a-z0-9]+)+)`/gm)]
  assert.ok(codes.length > 70, String(codes.length))
  assert.deepEqual(
    codes.map(([, code]) => code!).filter((code) => !known.has(code)),
    [],
  )
})

type Link = { readonly link: string; readonly target: string; readonly anchor: string | undefined }

/** Returns the links of a page that lead to files, with the target as a path below the root. */
function linksOf(page: string): Link[] {
  const text = textOf(page).replaceAll(/^```.*?^```$/gms, '')
  return [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^https?:/.test(link))
    .map((link) => {
      const [path, anchor] = link.split('#') as [string, string | undefined]
      return { link, target: path === '' ? page : join(dirname(page), path), anchor }
    })
}

/** Returns the anchors that GitHub makes from headings. */
function anchorsOf(page: string): Set<string> {
  const headings = textOf(page)
    .replaceAll(/^```.*?^```$/gms, '')
    .matchAll(/^#+ +(.*)$/gm)
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Generated pages are up to date, and every link on every page resolves. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { errors } from '@latchkey/kmd'
import { Chain, createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { startDevnet } from '../devnet/start.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { pages, textOf } from './Blocks.test.helper.js'

type Registry = { readonly [code: string]: { readonly message: string; readonly hint: string } }

async function load(script: string): Promise<{ [name: string]: () => string | Promise<string> }> {
  return (await import(pathToFileURL(join(root, 'scripts', script)).href)) as {
    [name: string]: () => string | Promise<string>
  }
}

async function loadApi(): Promise<{ apiPages: () => Map<string, string>; undocumented: () => string[] }> {
  return (await import(pathToFileURL(join(root, 'scripts', 'api-docs', 'pages.mjs')).href)) as Awaited<
    ReturnType<typeof loadApi>
  >
}

for (const [page, script, name] of [
  ['docs/http.md', 'docs-http.mjs', 'httpPage'],
  ['docs/cli.md', 'docs-cli.mjs', 'cliPage'],
  ['docs/errors.md', 'docs-errors.mjs', 'errorsPage'],
  ['docs/payment-errors.md', 'docs-errors.mjs', 'paymentErrorsPage'],
] as const) {
  test(`${page} is up to date`, async () => {
    const { [name]: write } = await load(script)
    assert.equal(textOf(page), await write!(), `${page} is out of date: run npm run docs`)
  })
}

test('docs/api matches the TSDoc of the packages', async () => {
  const { apiPages } = await loadApi()
  const pages = apiPages()
  assert.deepEqual(readdirSync(join(root, 'docs', 'api')).sort(), [...pages.keys()].sort(), 'run npm run docs')
  for (const [name, text] of pages) {
    assert.ok(textOf(`docs/api/${name}`) === text, `docs/api/${name} is out of date: run npm run docs`)
  }
})

test('the header of an entry introduces its page, and describes no export', async () => {
  const { apiPages } = await loadApi()
  for (const [name, text] of apiPages()) {
    const [, introduction] = /^# [^\n]+\n\n(.+?)(?:\n\n|$)/s.exec(text)!
    assert.equal(text.split(introduction!).length, 2, `docs/api/${name} repeats: ${introduction}`)
  }
})

test('every package with an entry exports its error registry, each error with a message and a hint', async () => {
  const script = pathToFileURL(join(root, 'scripts', 'docs-errors.mjs')).href
  const { registries } = (await import(script)) as { registries: () => Promise<Map<string, Registry>> }
  const found = await registries()
  assert.ok(found.size >= 9, [...found.keys()].join(', '))
  for (const [name, errors] of found) {
    for (const [code, { message, hint }] of Object.entries(errors)) {
      assert.match(code, /^[a-z][a-z0-9_]*$/, name)
      assert.ok(message !== '' && hint !== '', `${name}: ${code}`)
    }
    if (!existsSync(join(root, 'packages', name.replace('@latchkey/', ''), 'dist', 'index.js'))) continue
    const entry = (await import(name)) as { errors?: Registry }
    assert.deepEqual(entry.errors, errors, `${name} does not export its registry as errors`)
  }
})

test('every export of every package is documented', async () => {
  const { undocumented } = await loadApi()
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
  const facilitator = new Facilitator({ chains: [chain] })
  t.after(() => facilitator.stop())
  const handler = createFacilitatorHandler({ facilitator })
  const ask = (method: string, path: string): Promise<Response> =>
    handler(new Request(`http://facilitator.example${path}`, { method }))
  const section = textOf('docs/http.md').split('## The facilitator')[1]!.split('\n## ')[0]!
  const listed = [...section.matchAll(/^\| `([A-Z]+)` \| `(\S+)` \|/gm)]
  for (const [, method, path] of listed) assert.ok(![404, 405].includes((await ask(method!, path!)).status), path)
  const notFound = await (await ask('GET', '/nowhere')).text()
  const [, served] = /there are ([^"]*)/.exec(notFound)!
  assert.deepEqual(
    listed.map(([, , path]) => path),
    served!.split(', '),
  )
})

/** Pages that are not run like those in a clone. */
const others = ['api', 'start'].flatMap((folder) =>
  readdirSync(join(root, 'docs', folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${folder}/${name}`),
)

test('links lead to pages and headings that exist', async (t) => {
  for (const page of ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pages(), ...others]) {
    await t.test(page, () => {
      const text = textOf(page).replaceAll(/^```.*?^```$/gms, '')
      for (const [, link] of text.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(link!)) continue
        const [path, anchor] = link!.split('#') as [string, string | undefined]
        const target = path === '' ? page : join(dirname(page), path)
        assert.ok(existsSync(join(root, target)), `${link} leads nowhere`)
        if (anchor === undefined) continue
        const file = target.endsWith('.md') ? target : join(target, 'README.md')
        assert.ok(anchor === 'readme' || anchorsOf(file).has(anchor), `${link}: ${file} has no such heading`)
      }
    })
  }
})

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

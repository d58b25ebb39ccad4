/** Published packages are complete, contain nothing else, and work with Node, TypeScript and bundlers. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { loadScript, referenceNames } from '../docs/Reference.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { packAll, type Tarball } from './Tarballs.test.helper.js'

const run = promisify(execFile)
const tarballs = await packAll()
const { engines, version } = JSON.parse(readFileSync(join(root, 'packages/algorand/package.json'), 'utf8')) as Manifest

type Manifest = {
  readonly version: string
  readonly engines: object
  readonly license?: string
  readonly description?: string
  readonly repository?: object
  readonly sideEffects?: unknown
  readonly scripts?: object
  readonly exports?: { readonly [entry: string]: unknown }
  readonly dependencies?: { readonly [name: string]: string }
}

type Problem = { readonly kind: string; readonly resolutionKind?: string }
type Attw = {
  createPackageFromTarballData: (data: Uint8Array) => object
  checkPackage: (tarball: object) => Promise<{ readonly types: unknown; readonly problems?: readonly Problem[] }>
}
const attw = pathToFileURL(join(root, 'node_modules', '@arethetypeswrong', 'core', 'dist', 'index.js')).href

type SourceMap = { readonly sources: readonly string[]; readonly sourcesContent?: readonly string[] }

/** Returns the packages that a bundle requires or imports. */
function packagesIn(code: string): string[] {
  const names = [...code.matchAll(/\b(?:require\w*(?:\$\d+)?|requireHere|import)\("((?:@[\w-]+\/)?[\w-]+)[^"]*"\)/g)]
  return names.map(([, name]) => name!).filter((name) => name !== 'node' && name !== 'url')
}

for (const tarball of tarballs) {
  test(tarball.name, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-package-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    await run('tar', ['-xzf', tarball.path, '-C', folder])
    const unpacked = join(folder, 'package')
    const paths = tarball.files.map(({ path }) => path)
    const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as Manifest

    await t.test('has a licence, a readme and a complete manifest', () => {
      for (const path of ['LICENSE', 'README.md']) assert.ok(paths.includes(path), path)
      const { description, license, repository, sideEffects } = manifest
      assert.ok(description !== undefined && description.length > 20)
      assert.equal(license, 'Apache-2.0')
      assert.ok(repository !== undefined)
      assert.deepEqual(manifest.engines, engines)
      assert.ok(sideEffects !== undefined)
      assert.equal(manifest.version, version)
      assert.deepEqual(manifest.scripts ?? {}, {})
    })

    await t.test('contains no tests and nothing that only the build needs', () => {
      const unwanted = paths.filter((path) =>
        /\.test\.|tsbuildinfo|\/testing\/|\.support\.|\/\.|golden|fixture|testdata/i.test(path),
      )
      assert.deepEqual(unwanted, [])
    })

    await t.test('has the sources that its source maps name, and compiled files only for them', () => {
      for (const path of paths.filter((one) => one.endsWith('.js.map'))) {
        const { sources, sourcesContent } = JSON.parse(readFileSync(join(unpacked, path), 'utf8')) as SourceMap
        for (const [index, source] of sources.entries()) {
          const isThere = paths.includes(posix.join(dirname(path), source)) || Boolean(sourcesContent?.[index])
          assert.ok(isThere, `${path}: ${source}`)
        }
      }
    })

    await t.test('bundles no third-party code, and imports only its dependencies', () => {
      for (const path of paths.filter((one) => /^bundle\/.*\.js$/.test(one))) {
        for (const name of packagesIn(readFileSync(join(unpacked, path), 'utf8'))) {
          assert.ok(Object.hasOwn(manifest.dependencies ?? {}, name), `${path} imports ${name}`)
        }
        // A file that only re-exports has no map.
        if (!paths.includes(`${path}.map`)) continue
        const { sources } = JSON.parse(readFileSync(join(unpacked, `${path}.map`), 'utf8')) as SourceMap
        for (const source of sources) assert.match(source, /^(?:\.\.\/)?\.\.\/(?:[\w-]+\/)?src\/[\w./-]+\.ts$/)
      }
    })

    if (tarball.name === 'latchkey') {
      await t.test('has commands that start with its own files', async () => {
        const start = (name: string, ...args: string[]) =>
          run(process.execPath, [join(unpacked, 'bin', `${name}.js`), ...args])
        assert.equal((await start('latchkey', '--version')).stdout, `${version}\n`)
        for (const words of ['wallet list', 'key list', 'sign', 'doctor']) {
          assert.match((await start('latchkey', 'help', ...words.split(' '))).stdout, new RegExp(`latchkey ${words}`))
        }
        assert.match((await start('kmd', '--help')).stdout, /^Key Management Daemon/)
      })
    }

    await t.test('depends on exact versions, and on its siblings at its own version', () => {
      const siblings = new Set(tarballs.map(({ name }) => name))
      for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
        assert.match(range, /^\d/, `${name}@${range}`)
        if (siblings.has(name)) assert.equal(range, version, name)
      }
    })

    await t.test('passes publint', async () => {
      const { messages, pkg } = await publint({ pkgDir: unpacked, pack: false, strict: true })
      assert.deepEqual(
        messages.map((message) => formatMessage(message, pkg)),
        [],
      )
    })

    // The package of the commands exports nothing.
    if (manifest.exports === undefined) return
    await t.test('has types that resolve like its code', () => typesResolve(tarball))
  })
}

test('the packed documentation has every reference page, and its links lead to files in it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-documentation-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { packDocs } = await loadScript<{ packDocs: (folder: string) => Promise<string> }>('pack-docs.mjs')
  await run('tar', ['-xzf', await packDocs(folder), '-C', folder])
  const top = join(folder, `latchkey-docs-${version}`)
  const pages = readdirSync(top, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  for (const page of [...referenceNames, 'docs/api/README.md', 'docs/selling.md', 'README.md']) {
    assert.ok(pages.includes(page), page)
  }
  for (const page of pages) {
    const text = readFileSync(join(top, page), 'utf8').replaceAll(/^```.*?^```$/gms, '')
    for (const [, link] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(link!)) continue
      assert.ok(existsSync(join(top, dirname(page), link!)), `${page}: ${link}`)
    }
  }
})

/** The packages are ES modules only, so CommonJS and old resolvers do not matter: the profile `esm-only` of attw. */
const ignoredResolvers = ['node10', 'node16-cjs']

/** Uses the library of attw, because its command loads a compiler at each start. */
async function typesResolve({ path }: Tarball): Promise<void> {
  const { checkPackage, createPackageFromTarballData } = (await import(attw)) as Attw
  const { types, problems = [] } = await checkPackage(createPackageFromTarballData(readFileSync(path)))
  assert.ok(types, 'the package has types')
  assert.deepEqual(
    problems.filter(({ resolutionKind }) => resolutionKind === undefined || !ignoredResolvers.includes(resolutionKind)),
    [],
  )
}

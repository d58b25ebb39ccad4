// Builds the web pages into static files. Does nothing if the inputs are unchanged.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packages.mjs'

const pages = join(root, 'packages', 'pages')
const stampFile = join(pages, 'dist', '.built-from')

const made = sources()
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === made) process.exit(0)

const { build } = await import('vite').catch(() => ({ build: undefined }))
if (build === undefined) {
  // A production install has no bundler; published packages contain their built files.
  console.error('latchkey: no bundler installed, the web pages are not built')
  process.exit(0)
}

rmSync(stampFile, { force: true })
for (const page of ['console', 'paywall']) {
  const { settings } = await import(join(pages, page, 'vite.mjs'))
  for (const one of [settings].flat()) await build({ configFile: false, logLevel: 'warn', ...one })
}
writeFileSync(stampFile, made)

/** Returns one hash over all inputs: sources, settings, dependency versions, and our own compiled packages. */
function sources() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  hash.update(readFileSync(join(pages, 'compactApi.mjs')))
  const own = ['algorand', 'http-client', 'kmd-api', 'kmd-client', 'x402-wire'].map((name) =>
    join(root, 'packages', name, 'dist'),
  )
  const directories = [join(pages, 'console'), join(pages, 'paywall'), ...own]
  for (const directory of directories) {
    const names = readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(m?js|tsx?|css|html|svg)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
    for (const name of names) hash.update(name.slice(root.length)).update('\0').update(readFileSync(name))
  }
  return hash.digest('hex')
}

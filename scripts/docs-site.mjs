// `npm run docs:build` builds the documentation site into site/dist, `npm run docs:serve` also serves it.
// Arguments of serve: --port N (4040), --no-build to serve what is there; of both: --no-pictures, --no-setup.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from './cache.mjs'
import { root } from './packages.mjs'
import { setUp } from './setup.mjs'
import { installSite } from './site/install.mjs'
import { writeLlms } from './site/llms.mjs'
import { serveSite } from './site/serve.mjs'

const site = join(root, 'site')
const dist = join(site, 'dist')
const [command, ...args] = process.argv.slice(2)

if (command === 'build') await build()
else if (command === 'serve') await serve()
else fail('give build or serve')

async function build() {
  // The reference pages are made from the compiled packages. Tests have built them already.
  if (!args.includes('--no-setup')) setUp()
  const problem = installSite()
  if (problem !== undefined) fail(`VitePress could not be installed in site/: ${problem}`)
  const { takePictures } = await import('./site/pictures.mjs')
  const { stagePages } = await import('./site/pages.mjs')
  const pictures = args.includes('--no-pictures') ? [] : await takePictures()
  const pages = await stagePages(join(site, 'content'), pictures)
  const status = withLock(join(root, '.latchkey-install.lock-site'), runVitePress)
  if (status !== 0) process.exit(status)
  writeLlms(dist, pages)
  console.log(`Built ${pages.size + 1} pages with ${pictures.length} pictures in site/dist.`)
}

function runVitePress() {
  const program = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  // With the usual young generation, collecting garbage takes an eighth of the build.
  const all = ['--max-semi-space-size=128', program, 'build', site]
  return spawnSync(process.execPath, all, { stdio: ['ignore', 2, 2] }).status ?? 1
}

async function serve() {
  if (!args.includes('--no-build') || !existsSync(join(dist, 'index.html'))) await build()
  const given = args.indexOf('--port')
  const port = given === -1 ? 4040 : Number(args[given + 1])
  const base = process.env.DOCS_BASE ?? '/'
  const server = await serveSite({ folder: dist, port, base }).catch((error) => fail(error.message))
  console.log(`Serving the documentation at http://127.0.0.1:${server.address().port}${base}\nTo stop, press Ctrl-C.`)
}

function fail(message) {
  console.error(`docs-site: ${message}`)
  process.exit(1)
}

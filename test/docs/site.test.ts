/**
 * The documentation site is built from the pages, has no broken link, and its search works in Chromium without any
 * other host. Without a registry for the first install of the generator, the tests are left out.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, posix } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { axeIssues } from '../browser/axe.test.helper.js'
import { launch, takeScreenshot, timeoutMs } from '../browser/chromium.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { blocksOf, pages as committedPages } from './Blocks.test.helper.js'
import { loadScript, referenceNames } from './Reference.test.helper.js'

const timeout = 900_000
const dist = join(root, 'site', 'dist')

const { installSite } = await loadScript<{ installSite: () => string | undefined }>('site/install.mjs')
const problem = installSite()
const skip = problem === undefined ? false : `NOT RUN: VitePress cannot be installed: ${problem}`
const built =
  skip === false
    ? await promisify(execFile)(process.execPath, [join(root, 'scripts', 'docs-site.mjs'), 'build', '--no-setup'], {
        timeout,
        maxBuffer: 1 << 26,
      })
    : undefined
const files =
  skip === false ? readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name)) : []
const htmlPages = files.filter((name) => name.endsWith('.html'))

const { serveSite } = await loadScript<{ serveSite: (options: object) => Promise<Server> }>('site/serve.mjs')
const server = skip === false ? await serveSite({ folder: dist, port: 0 }) : undefined
after(() => server?.close())
const origin = (): string => `http://127.0.0.1:${(server!.address() as AddressInfo).port}`

test('the site has every committed page and every reference page', { skip }, () => {
  const pages = JSON.parse(readFileSync(join(root, 'site', 'content', 'sources.json'), 'utf8')) as {
    readonly [path: string]: string
  }
  const sources = new Set(Object.values(pages))
  for (const page of [...committedPages(), ...referenceNames, 'docs/api/README.md', 'SECURITY.md']) {
    assert.ok(sources.has(page), page)
  }
  for (const path of Object.keys(pages)) assert.ok(files.includes(path.replace(/\.md$/, '.html')), path)
  assert.match(built!.stdout, /Built \d+ pages with 3 pictures/, built!.stderr)
})

test('every guide is in the navigation', { skip }, async () => {
  const { groups } = (await import(join(root, 'site', 'navigation.mjs'))) as { groups: { pages: string[] }[] }
  const listed = groups.flatMap(({ pages }) => pages)
  assert.equal(new Set(listed).size, listed.length)
  const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('api/'))
    .map((name) => (name === 'README.md' ? 'overview' : name.replace(/\.md$/, '')))
  assert.deepEqual(
    guides.filter((name) => !listed.includes(name)),
    [],
  )
})

test('no link is broken', { skip }, () => {
  const texts = new Map(htmlPages.map((name) => [name, readFileSync(join(dist, name), 'utf8')]))
  const broken: string[] = []
  let checked = 0
  for (const [name, text] of texts) {
    for (const [, link] of text.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^(https?:|mailto:|data:)/.test(link!)) continue
      checked++
      const [path, anchor] = link!.replaceAll('&amp;', '&').split('#') as [string, string | undefined]
      const target =
        path === '' ? name : posix.join(path.startsWith('/') ? '' : posix.dirname(name), path).replace(/^\//, '')
      const file = [target, `${target}.html`, posix.join(target, 'index.html')].find((one) => files.includes(one))
      if (file === undefined) broken.push(`${name}: ${link}`)
      else if (anchor && texts.has(file) && !texts.get(file)!.includes(`id="${decodeURIComponent(anchor)}"`))
        broken.push(`${name}: ${link} has no such heading`)
    }
  }
  assert.ok(checked > 5_000, `${checked} links`)
  assert.deepEqual(broken, [])
})

test('llms.txt lists every page, and each page exists as Markdown', { skip }, () => {
  const listed = [...readFileSync(join(dist, 'llms.txt'), 'utf8').matchAll(/^- \[[^\]]+\]\(\/([^)]+\.md)\)/gm)]
  assert.ok(listed.length > 60, String(listed.length))
  for (const [, path] of listed) assert.ok(existsSync(join(dist, path!)), path)
  assert.ok(readFileSync(join(dist, 'llms-full.txt'), 'utf8').includes('# Tutorial'))
})

test('the search finds a page, in light and dark, without any other host', { skip, timeout }, async (t) => {
  const browser = await launch(t)
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const foreign: string[] = []
  await context.route('**', (route) => {
    if (route.request().url().startsWith(origin())) return route.continue()
    foreign.push(route.request().url())
    return route.abort()
  })
  const page = await context.newPage()
  page.setDefaultTimeout(timeoutMs)
  await page.goto(`${origin()}/`)
  await page.getByRole('heading', { name: /Keys in a daemon, agents with limits/ }).waitFor()
  await takeScreenshot(page, 'site-home-light')
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('settlement_pending')
  await page.locator('.results a, [role="listbox"] a').first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/#/)
  assert.match(await page.locator('main').innerText(), /settlement_pending/)
  await page.getByRole('switch').first().click()
  assert.equal(await page.locator('html.dark').count(), 1)
  await page.goto(`${origin()}/troubleshooting.html`)
  await page.getByRole('heading', { name: 'Troubleshooting' }).first().waitFor()
  assert.equal(await page.locator('html.dark').count(), 1, 'the choice is kept')
  await takeScreenshot(page, 'site-troubleshooting-dark')
  assert.deepEqual(foreign, [])
  // The button of VitePress shows a key next to its name.
  const issues = (await axeIssues(page)).filter((issue) => !/^label-content-name-mismatch: .*DocSearch/.test(issue))
  assert.deepEqual(issues, [])
})

test('at 390 pixels no page scrolls sideways', { skip, timeout }, async (t) => {
  const browser = await launch(t)
  const context = await browser.newContext({ viewport: { width: 390, height: 800 } })
  const page = await context.newPage()
  for (const name of ['index', 'tutorial', 'troubleshooting', 'cli', 'comparison', 'start/agents']) {
    await page.goto(`${origin()}/${name}.html`)
    await page.locator('h1').first().waitFor()
    const width = await page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= 390, `${name} is ${width} pixels wide`)
    await takeScreenshot(page, `site-${name.replace('/', '-')}-390`)
  }
})

test('the lock file of the site names no registry', () => {
  const lock = readFileSync(join(root, 'site', 'package-lock.json'), 'utf8')
  assert.doesNotMatch(lock, /"resolved"/)
})

test('commands print their values, not placeholders of an account', () => {
  const guides = committedPages().flatMap((page) => blocksOf(page))
  const found = guides.filter(
    ({ language, text }) => /^(sh|js|ts)$/.test(language) && /(words|address) of account/.test(text),
  )
  assert.deepEqual(
    found.map(({ page, line }) => `${page}:${line}`),
    [],
  )
})

/**
 * Follows the pages for people outside a clone from top to bottom in an empty folder: packages come from the tarballs,
 * files are written, commands run, and the shown output is compared with the actual output. `journeys.test.ts` follows
 * the other pages of that folder, so that only their packages are installed here.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Block, blocksOf, nameOf } from '../docs/Blocks.test.helper.js'
import { isPrinted, normal } from '../docs/Output.test.helper.js'
import { commandsIn, Shell } from '../docs/Shell.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { journeyPages } from './journeyPages.test.helper.js'
import { isRegistryReachable, outside } from './Outside.test.helper.js'
import { packAll } from './Tarballs.test.helper.js'

const timeout = 900_000
const pages = readdirSync(join(root, 'docs', 'start'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/start/${name}`)
  .filter((page) => !journeyPages.includes(page))
const shop = blocksOf('docs/selling.md').filter(({ section }) => section === 'A shop in an empty folder')
const workflow = 'docs/start/github-actions.yml'

const skip = isRegistryReachable() ? false : 'NOT RUN: the npm registry cannot be reached'
const tarballs = skip === false ? await packAll() : []

for (const page of pages) {
  test(page, { timeout, skip }, async (t) => {
    const shell = await Shell.open(t, outside(tarballs))
    let printed = ''
    for (const block of blocksOf(page)) printed = (await follow(shell, block, printed)) ?? printed
    if (page === 'docs/start/tests.md') await followWorkflow(shell)
  })
}

test('docs/selling.md: a shop in an empty folder that has the light packages of docs/start/{buying,selling}.md', {
  timeout,
  skip,
}, async (t) => {
  const shell = await Shell.open(t, outside(tarballs))
  const installs = ['docs/start/buying.md', 'docs/start/selling.md'].map((page) =>
    blocksOf(page)
      .flatMap(({ language, text }) => (language === 'sh' ? commandsIn(text) : []))
      .filter((command) => /^npm (init|install) /.test(command)),
  )
  for (const commands of installs) assert.ok(commands.length >= 2, 'each page installs packages')
  const typed = new Set(installs.flat())
  await runAll(shell, [...typed].join('\n'))
  checkLight(shell.directory)
  // In the same folder, because npm then installs only the packages that the shop adds.
  let printed = ''
  for (const block of shop) printed = (await follow(shell, withoutCommands(block, typed), printed)) ?? printed
})

/** Returns a block without the commands that were typed in the same folder before. */
function withoutCommands(block: Block, typed: ReadonlySet<string>): Block {
  if (block.language !== 'sh') return block
  const left = commandsIn(block.text).filter((command) => !typed.has(command))
  assert.ok(left.length > 0, `${nameOf(block)} has a command of its own`)
  return { ...block, text: left.join('\n') }
}

/** Returns the output of the last command, if the block has one. */
async function follow(shell: Shell, block: Block, printed: string): Promise<string | undefined> {
  if (block.language === 'js') {
    assert.match(block.about, /^[\w./-]+$/, `${nameOf(block)} names no file`)
    shell.write(block.about, block.text)
    return undefined
  }
  if (block.language === 'sh') return runAll(shell, block.text)
  assert.equal(block.language, '', nameOf(block))
  if (block.about !== '') {
    await until(`${block.about} to print what the page says`, () =>
      isPrinted(block.text, shell.printedBy(`node ${block.about}`)),
    )
    return undefined
  }
  assert.ok(isPrinted(block.text, printed), `${nameOf(block)}: this was printed before it:\n${normal(printed)}`)
  return undefined
}

async function runAll(shell: Shell, commands: string): Promise<string> {
  const ran = await shell.run(commands)
  assert.equal(ran.length, commandsIn(commands).length)
  for (const { command, output, code } of ran) {
    assert.equal(code, 0, `${command}\nended with ${code} and printed:\n${output}`)
  }
  return shell.asOnPage(ran.at(-1)!.output)
}

/** Runs the workflow steps that are commands, in the folder that the page has created. */
async function followWorkflow(shell: Shell): Promise<void> {
  const steps = [...readFileSync(join(root, workflow), 'utf8').matchAll(/^ +- run: (.*)$/gm)].map(([, step]) => step!)
  assert.ok(steps.length >= 3)
  for (const step of steps) await runAll(shell, step)
}

/** Checks that the packages for buyers and sellers contain no native code and no install scripts. */
function checkLight(directory: string): void {
  const lock = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as {
    packages: { [path: string]: { dev?: boolean; devOptional?: boolean; hasInstallScript?: boolean } }
  }
  // Packages that only `latchkey` needs do not count, nor does an optional peer that is there for it.
  const installed = Object.entries(lock.packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true,
  )
  assert.ok(installed.some(([path]) => path === 'node_modules/@latchkey/x402'))
  assert.deepEqual(
    installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path),
    [],
  )
  const native = installed
    .flatMap(([path]) =>
      readdirSync(join(directory, path), { recursive: true, encoding: 'utf8' }).map((name) => join(path, name)),
    )
    .filter((path) => path.endsWith('.node') && !path.slice('node_modules/'.length).includes('node_modules/'))
  assert.deepEqual(native, [])
}

/**
 * Follows the pages of three newcomers (sell, buy, give an agent a budget) and the tutorial from an empty folder. Every
 * command is typed exactly as printed, on the printed ports, and every file is written as printed; an installation that
 * an earlier page has made is copied. Before the first
 * release, the pages print which command installs the tarballs in place of a package name; after it, the names come from
 * a registry on this machine that has the tarballs.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Block, blocksOf, nameOf } from '../docs/Blocks.test.helper.js'
import { isPrinted, normal } from '../docs/Output.test.helper.js'
import { loadScript } from '../docs/Reference.test.helper.js'
import { commandsIn } from '../docs/Shell.test.helper.js'
import { temporaryDirectory } from '../process/commands.test.helper.js'
import { journeys } from './journeyPages.test.helper.js'
import { canIsolate, openNetwork } from './network.test.helper.js'
import { isRegistryReachable, npm, npmEnvironment } from './Outside.test.helper.js'
import { startRegistry } from './Registry.test.helper.js'
import { packAll } from './Tarballs.test.helper.js'
import { Terminals } from './Terminals.test.helper.js'
import { startTestnet } from './Testnet.test.helper.js'

const timeout = 1_800_000
const ports = [4001, 4002, 4021, 4022, 4030, 8980]

const isAlone = canIsolate()
const busy = isAlone ? -1 : (await Promise.all(ports.map(isFree))).indexOf(false)
const reasons = [
  ...(busy === -1 ? [] : [`NOT RUN: port ${ports[busy]} is in use, and the pages name it`]),
  ...(isRegistryReachable() ? [] : ['NOT RUN: the npm registry cannot be reached']),
]
const skip = reasons[0] ?? false
const tarballs = skip === false ? await packAll() : []

type Published = { readonly isPublished: boolean; readonly commands: { readonly libraries: string } }
const { isPublished, commands } = await loadScript<Published>('published.mjs')

const followed: { readonly [name: string]: readonly Block[] } = {
  ...Object.fromEntries(Object.entries(journeys).map(([name, page]) => [name, blocksOf(page)])),
  'the tutorial, up to TestNet': blocksOf('docs/tutorial.md').filter(({ section }) =>
    ['Write the API', 'Pay on your machine'].includes(section),
  ),
}

for (const [name, blocks] of Object.entries(followed)) {
  test(name, { timeout, skip }, async (t) => {
    assert.ok(blocks.length >= 5, 'the page has its steps')
    const startedAt = performance.now()
    const typed = await follow(t, blocks)
    t.diagnostic(`${name}: ${typed} commands, ${Math.round((performance.now() - startedAt) / 1000)} s`)
  })
}

const testnetSections = [
  ...['Write the API', 'Create wallets for TestNet', 'Get test money', 'Run a facilitator', 'Sell on TestNet'],
]
// The ports of the page could be in use outside a network of its own.
const skipTestnet = skip !== false || isAlone ? skip : 'NOT RUN: needs a network of its own, as root'

test('the tutorial on TestNet, rehearsed on a local chain with its ids', { timeout, skip: skipTestnet }, async (t) => {
  const blocks = blocksOf('docs/tutorial.md').filter(({ section }) => testnetSections.includes(section))
  const inNetwork = await openNetwork(t)
  const testnet = await startTestnet(t, inNetwork)
  let [addresses, optedIn] = [[] as readonly string[], 0]
  // In place of the websites that give test money, which the page names between the commands.
  const onTyped = async (command: string, output: string): Promise<void> => {
    if (command.startsWith('printf ')) {
      addresses = output.match(/[A-Z2-7]{58}/g) ?? []
      assert.equal(addresses.length, 3)
      for (const address of addresses) await testnet.give(address, { microAlgos: 1_000_000 })
    }
    if (/ opt-in USDC /.test(command) && ++optedIn === 2) {
      await testnet.give(addresses[1]!, { microDollars: 20_000_000 })
    }
    if (/ balance /.test(command)) assert.match(output, /20 USDC/)
    if (/ pay /.test(command)) assert.match(output, /Paid \$0\.01 \(USDC, asset 10458941\) to .* on TestNet/)
  }
  const environment = { AVM_NETWORK: 'testnet', ALGOD_URL: testnet.url, LATCHKEY_STACK: 'none' }
  const startedAt = performance.now()
  const typed = await follow(t, blocks, { environment, onTyped, inNetwork, hasSameVariables: true })
  assert.equal(await testnet.give(addresses[0]!), 10_000)
  t.diagnostic(`TestNet, rehearsed: ${typed} commands, ${Math.round((performance.now() - startedAt) / 1000)} s`)
})

type FollowOptions = {
  readonly environment?: { readonly [name: string]: string }
  readonly onTyped?: (command: string, output: string) => Promise<void>
  /** @default a network that the test opens */
  readonly inNetwork?: readonly string[]
  readonly hasSameVariables?: boolean
}

async function follow(t: TestContext, blocks: readonly Block[], options: FollowOptions = {}): Promise<number> {
  const home = temporaryDirectory(t)
  const folder = join(home, 'empty')
  mkdirSync(folder)
  // The clone next to the folder, after `npm run pack`.
  const packed = join(home, 'latchkey', 'dist-packages')
  mkdirSync(packed, { recursive: true })
  for (const { path } of tarballs) copyFileSync(path, join(packed, basename(path)))
  const { hasSameVariables, onTyped } = options
  const inNetwork = options.inNetwork ?? (isAlone ? await openNetwork(t) : [])
  const environment = { ...(await environmentFor(t)), ...options.environment }
  const terminals = new Terminals(t, { home, folder, environment, inNetwork, hasSameVariables })
  let printed = ''
  let hasLibraries = false
  for (const block of blocks) {
    const { language, about, text } = block
    if (language === 'js') {
      assert.match(about, /^[\w-]+\.js$/, `${nameOf(block)} names no file`)
      writeFileSync(join(folder, about), text)
    } else if (language === 'sh') {
      for (const command of commandsIn(text).map(asInstalledToday).map(confirmed)) {
        // The command of the note installs all packages of the page.
        if (command === commands.libraries && hasLibraries) continue
        hasLibraries ||= command === commands.libraries
        const { output, code } = await terminals.type(command.replace(/^npm(?= install )/, () => npm))
        assert.equal(code, 0, `${command}\nended with ${code} and printed:\n${output}`)
        printed = output
        await onTyped?.(command, output)
      }
    } else {
      assert.ok(isPrinted(text, printed), `${nameOf(block)}: this was printed before it:\n${normal(printed)}`)
    }
  }
  return terminals.typed
}

/** Follows the note at the top of the pages, which names the command in place of package names before the release. */
function asInstalledToday(command: string): string {
  return !isPublished && /^npm install .*\blatchkey\b/.test(command) ? commands.libraries : command
}

/** Answers the question of `latchkey pay` with yes: the terminals of the test have no keyboard. */
function confirmed(command: string): string {
  return /^npx latchkey pay (?!.*--yes)/.test(command) ? `${command} --yes` : command
}

/** Returns npm's settings, with the registry that has the tarballs. */
async function environmentFor(t: TestContext): Promise<{ [name: string]: string }> {
  return { ...npmEnvironment(), ...(isPublished ? { npm_config_registry: await startRegistry(t, tarballs) } : {}) }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

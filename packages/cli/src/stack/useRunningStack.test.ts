import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Options } from '../Command.js'
import { dataDirectory } from '../daemon.js'
import * as StackPointer from './StackPointer.js'
import { hasBlankPassword } from './stackValues.js'
import { mayUseStack, stateDirectory } from './stateDirectory.js'
import { type Use, useRunningStack } from './useRunningStack.js'

const buyer = 'B'.repeat(58)
const text = { type: 'string', description: '' } as const
const known: Options = { 'data-dir': text, network: text, node: text, wallet: text, key: text, json: text }

type Result = {
  environment: { [name: string]: string | undefined }
  options: { [name: string]: unknown }
  said: string
}
type Run = (use?: Partial<Use>) => Promise<Result>

/** Creates a stack that this process runs, and a home without a daemon. */
function setUp(t: TestContext): { directory: string; run: Run } {
  const home = mkdtempSync(join(tmpdir(), 'use-stack-'))
  const before = { XDG_STATE_HOME: process.env['XDG_STATE_HOME'], HOME: process.env['HOME'] }
  Object.assign(process.env, { XDG_STATE_HOME: join(home, 'state'), HOME: home })
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(home, { recursive: true, force: true })
  })
  const directory = join(home, 'dev')
  mkdirSync(join(directory, 'kmd-v0.5'), { recursive: true })
  writeFileSync(join(directory, 'kmd-v0.5', 'kmd.pid'), String(process.pid))
  const [devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl] = [1, 2, 3, 4, 5].map(
    (port) => `http://127.0.0.1:${port}`,
  )
  StackPointer.write({ directory, buyer, ...({ devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl } as Urls) })
  const run: Run = async (use = {}) => {
    let said = ''
    const write = t.mock.method(process.stderr, 'write', (piece: string) => {
      said += piece
      return true
    })
    const environment = { ...use.environment }
    try {
      const options = await useRunningStack({ name: 'pay', known, options: {}, ...use, environment })
      return { environment, options, said }
    } finally {
      write.mock.restore()
    }
  }
  return { directory, run }
}

type Urls = Pick<StackPointer.StackPointer, 'devnetUrl' | 'indexerUrl' | 'kmdUrl' | 'facilitatorUrl' | 'sellerUrl'>

test('the running stack is used completely, and named', async (t) => {
  const { directory, run } = setUp(t)
  const { environment, said } = await run()
  assert.equal(said, 'latchkey: using the dev stack at 127.0.0.1:5 (~/dev)\n')
  assert.deepEqual(
    { ...environment },
    {
      ...{ KMD_DATA_DIR: join(directory, 'kmd-v0.5'), KMD_WALLET: 'x402-buyer', KMD_KEY: buyer },
      ...{
        AVM_NETWORK: 'local',
        ALGOD_URL: 'http://127.0.0.1:1',
        ALGOD_TOKEN: 'a'.repeat(64),
        USDC_ASSET_ID: '31566704',
      },
      ...{
        INDEXER_URL: 'http://127.0.0.1:2',
        FACILITATOR_URL: 'http://127.0.0.1:4',
        RESOURCE_SERVER_URL: 'http://127.0.0.1:5',
      },
    },
  )
  assert.equal(hasBlankPassword('x402-buyer'), true)
  assert.equal(hasBlankPassword('savings'), false)
  for (const options of [{ json: true }, { quiet: true }]) assert.equal((await run({ options })).said, '')
})

test('an option or variable for another daemon or network takes precedence', async (t) => {
  const { run } = setUp(t)
  for (const options of [
    { 'data-dir': '/elsewhere' },
    { network: 'mainnet' },
    { network: 'testnet' },
    { node: ['http://x'] },
  ]) {
    assert.deepEqual((await run({ options })).environment, {}, JSON.stringify(options))
  }
  for (const environment of [
    { KMD_DATA_DIR: '/elsewhere' },
    { AVM_NETWORK: 'mainnet' },
    { ALGOD_URL: 'http://x' },
    { AVM_MNEMONIC: 'abandon' },
    { AVM_PRIVATE_KEY: 'x' },
    { LATCHKEY_STACK: 'none' },
  ]) {
    assert.deepEqual((await run({ environment })).environment, environment)
  }
  const { said } = await run({ environment: { AVM_NETWORK: 'testnet' } })
  assert.equal(said, 'latchkey: a dev stack is running but not used, because AVM_NETWORK is set in the environment\n')
})

test('another wallet does not get the key of the buyer', async (t) => {
  const { run } = setUp(t)
  const { environment } = await run({ options: { wallet: 'savings' } })
  assert.equal(environment['KMD_KEY'], undefined)
  const own = await run({ environment: { KMD_WALLET: 'savings' } })
  assert.deepEqual([own.environment['KMD_WALLET'], own.environment['KMD_KEY']], ['savings', undefined])
})

test('the directory of a stack selects it, also as the data directory', async (t) => {
  const { directory, run } = setUp(t)
  for (const given of [directory, join(directory, 'kmd-v0.5')]) {
    const { environment, options } = await run({ options: { 'data-dir': given } })
    assert.equal(options['data-dir'], join(directory, 'kmd-v0.5'))
    assert.equal(environment['AVM_NETWORK'], 'local')
    const chosen = await run({ environment: { LATCHKEY_STACK: given } })
    assert.equal(chosen.environment['ALGOD_URL'], 'http://127.0.0.1:1')
  }
  const other = await run({ options: { 'data-dir': directory, network: 'mainnet' } })
  assert.equal(other.environment['AVM_NETWORK'], undefined, 'never another network with the keys of a stack')
})

test('a named stack that is not running is an error', async (t) => {
  const { run } = setUp(t)
  await assert.rejects(run({ environment: { LATCHKEY_STACK: '/nonexistent' } }), {
    code: 'stack_not_running',
    hint: 'set LATCHKEY_STACK=~/dev, where one is running',
  })
})

test('a daemon in the default directory takes precedence over a stack', async (t) => {
  const { run } = setUp(t)
  const { environment, said } = await run({ isDefaultRunning: async () => true })
  assert.deepEqual(environment, {})
  assert.match(
    said,
    /^latchkey: using the key daemon in ~\/\.latchkey; a dev stack is also running: to use it, set LATCHKEY_STACK=~\/dev$/m,
  )
})

test('keys from elsewhere go to a stack only if it is named', async (t) => {
  const { directory, run } = setUp(t)
  for (const name of ['key import', 'wallet recover']) {
    const { environment, said } = await run({ name })
    assert.deepEqual(environment, {})
    assert.match(said, /to import into it, give -d ~\/dev /)
    const named = await run({ name, options: { 'data-dir': directory } })
    assert.equal(named.environment['KMD_DATA_DIR'], join(directory, 'kmd-v0.5'))
  }
})

test('a stack that ended unexpectedly is named, and not used', async (t) => {
  const { directory, run } = setUp(t)
  rmSync(join(directory, 'kmd-v0.5', 'kmd.pid'))
  const { environment, said } = await run()
  assert.deepEqual(environment, {})
  assert.equal(said, 'latchkey: the dev stack in ~/dev has stopped; to restart it: latchkey dev\n')
})

test('a stopped stack is named, unless another network or daemon is given', async (t) => {
  const { directory, run } = setUp(t)
  rmSync(join(process.env['XDG_STATE_HOME']!, 'latchkey', 'stacks'), { recursive: true })
  rmSync(directory, { recursive: true })
  assert.equal((await run()).said, '', 'there was never one in the default directory')
  const earlier = join(process.env['XDG_STATE_HOME']!, 'latchkey', 'dev')
  mkdirSync(earlier)
  writeFileSync(join(earlier, 'dev.json'), '{}')
  const said = 'latchkey: the dev stack in ~/state/latchkey/dev has stopped; to restart it: latchkey dev\n'
  assert.equal((await run()).said, said)
  for (const use of [{ options: { network: 'testnet' } }, { environment: { AVM_NETWORK: 'testnet' } }]) {
    assert.equal((await run(use)).said, '')
  }
  mkdirSync(join(process.env['HOME']!, '.latchkey', 'kmd-v0.5'), { recursive: true })
  writeFileSync(join(process.env['HOME']!, '.latchkey', 'kmd-v0.5', 'kmd.net'), '127.0.0.1:1')
  assert.equal((await run()).said, '')
})

test('servers and commands without a daemon do not look for a stack', (t) => {
  setUp(t)
  for (const name of ['kmd', 'dev', 'devnet', 'facilitator', 'token rotate', 'kmd stop', 'service install']) {
    assert.equal(mayUseStack(name, known), false, name)
  }
  assert.equal(mayUseStack('completions', {}), false)
  for (const name of ['pay', 'wallet list', 'send', 'doctor']) assert.equal(mayUseStack(name, known), true, name)
})

test('the directory of a stack is an alias of its data directory, for every command', (t) => {
  const { directory } = setUp(t)
  assert.equal(dataDirectory(directory, {}), directory, 'nothing says that it is a stack')
  writeFileSync(join(directory, 'dev.json'), '{}')
  assert.equal(dataDirectory(directory, {}), join(directory, 'kmd-v0.5'))
  assert.equal(dataDirectory(undefined, { KMD_DATA_DIR: directory }), join(directory, 'kmd-v0.5'))
  assert.equal(dataDirectory(join(directory, 'kmd-v0.5'), {}), join(directory, 'kmd-v0.5'))
})

test('the state directory is that of the system', () => {
  const home = process.env['HOME']!
  assert.equal(stateDirectory({ XDG_STATE_HOME: '/x' }, 'linux'), '/x/latchkey')
  assert.equal(stateDirectory({ XDG_STATE_HOME: 'relative' }, 'linux'), join(home, '.local/state/latchkey'))
  assert.equal(stateDirectory({}, 'darwin'), join(home, 'Library/Application Support/latchkey'))
  assert.equal(stateDirectory({ LOCALAPPDATA: '/local' }, 'win32'), '/local/latchkey')
})

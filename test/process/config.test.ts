/** Tests `latchkey config show`, and how `latchkey doctor` reports misspelt settings. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { dataDirectory } from './commands.test.helper.js'

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> => hostedLatchkey(args, { env })

const settings = {
  Session_Lifetime_Secs: 5,
  address: null,
  wire: 'reference',
  algod: { url: 'http://user:planted@node.example:1/planted?key=planted', token: 'planted-token' },
  alowed_hosts: ['x'],
}

const secrets = {
  ALGOD_TOKEN: 'planted-algod',
  KMD_PASSWORD: 'planted-password',
  AVM_MNEMONIC: 'planted words',
  AVM_PRIVATE_KEY: 'planted-key',
  FACILITATOR_API_KEYS: 'planted-api',
  ALGOD_URL: 'https://planted:planted@node.example/planted',
}

type Shown = { name: string; value: unknown; origin: string; source?: string; isLive?: boolean }

suite('latchkey config show', { concurrency: 2 }, () => {
  test('names the origin of every value: option, environment, file or default', async (t) => {
    const dataDir = dataDirectory(t, JSON.stringify(settings))
    const args = ['config', 'show', '--json', '--log-level', 'debug']
    const { code, stdout, stderr } = await run(args, { KMD_DATA_DIR: dataDir, ...secrets })
    assert.equal(code, 0, stderr)
    const { daemon, environment, file, warnings } = JSON.parse(stdout)
    assert.equal(file, join(dataDir, 'kmd_config.json'))
    const origins = Object.fromEntries(
      (daemon as Shown[]).map(({ name, value, origin, source }) => [name, [value, origin, source]]),
    )
    assert.deepEqual(origins['data_dir'], [dataDir, 'environment', 'KMD_DATA_DIR'])
    assert.deepEqual(origins['session_lifetime_secs'], [5, 'file', file])
    assert.deepEqual(origins['session_max_lifetime_secs'], [0, 'default', undefined])
    assert.deepEqual(origins['address'], ['', 'default', undefined], 'null is the default')
    assert.deepEqual(origins['wire'], ['reference', 'file', file])
    assert.deepEqual(origins['log_level'], ['debug', 'option', '--log-level'])
    assert.deepEqual(origins['log_format'], ['json', 'default', undefined])
    assert.deepEqual(origins['algod.url'], ['http://********@node.example:1/********', 'file', file])
    assert.deepEqual(origins['algod.token'], ['********', 'file', file])
    assert.equal((environment as Shown[]).length, Object.keys(secrets).length + 1)
    assert.match(warnings[0], /alowed_hosts .* did you mean allowed_hosts\?/)
  })

  test('shows no secret, as text or JSON', async (t) => {
    const dataDir = dataDirectory(t, JSON.stringify(settings))
    for (const more of [[], ['--json'], ['--node', 'http://user:planted@127.0.0.1:4001/planted']]) {
      const { code, stdout, stderr } = await run(['config', 'show', '-d', dataDir, ...more], secrets)
      assert.equal(code, 0, stderr)
      assert.doesNotMatch(stdout + stderr, /planted/)
    }
  })

  test('reports an invalid file as an error, and shows the defaults for a missing one', async (t) => {
    const broken = await run(['config', 'show', '-d', dataDirectory(t, '{"wire": 5')])
    assert.deepEqual([broken.code, broken.stdout], [3, ''])
    assert.match(broken.stderr, /kmd_config\.json is not valid: .*is not JSON/)
    const missing = await run(['config', 'show', '-d', dataDirectory(t, false)])
    assert.equal(missing.code, 0)
    assert.match(missing.stdout, /which does not exist/)
    assert.doesNotMatch(missing.stdout, / kmd_config\.json\n/)
  })
})

suite('latchkey doctor', { concurrency: 2 }, () => {
  test('a misspelt setting is a fault with a suggestion', async (t) => {
    const dataDir = dataDirectory(t, JSON.stringify({ drivers: { sqlite: { walets_dir: '/w' } }, session_lifetime: 5 }))
    const { code, stdout } = await run(['doctor', '-d', dataDir])
    assert.equal(code, 3)
    assert.match(stdout, /^fault +drivers\.sqlite\.walets_dir .*did you mean wallets_dir\?/m)
    assert.match(stdout, /^fault +session_lifetime .*did you mean session_lifetime_secs\?/m)
    assert.match(stdout, /cure: correct the name, or remove it/)
  })

  test('warns about a misspelt variable, but not about those of other programs', async (t) => {
    const environment = { KMD_DATADIR: 'x', LATCHKEY_NONSENSE: 'x', KMD_TOKEN: 'x', ALGOD_PORT: '1', AVM_ADDRESS: 'x' }
    const { stdout } = await run(['doctor', '-d', dataDirectory(t)], environment)
    assert.match(
      stdout,
      /^warning +no command reads the environment variable KMD_DATADIR; did you mean KMD_DATA_DIR\?/m,
    )
    assert.match(stdout, /^warning +no command reads the environment variable LATCHKEY_NONSENSE$/m)
    assert.doesNotMatch(stdout, /(KMD_TOKEN|ALGOD_PORT|AVM_ADDRESS) in the environment/)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '../errors.js'
import * as Config from './Config.js'

const parse = (json: unknown): Config.Config => Config.parse(JSON.stringify(json))
const rejects = (reason: RegExp, work: () => unknown): void => {
  assert.throws(
    work,
    (error) => error instanceof StartError && error.code === 'invalid_config' && reason.test(error.message),
  )
}

test('a missing setting has its default', () => {
  for (const text of ['{}', 'null', ' {} \n', '{"drivers":null}', '{"drivers":{"sqlite":{"scrypt":null}}}']) {
    assert.deepEqual(Config.parse(text), Config.defaults, text)
  }
  assert.deepEqual(parse({ unknown: 1, drivers: { other: {} }, address: null, allowed_origins: null }), Config.defaults)
})

test('every setting is read', () => {
  const all = {
    drivers: {
      sqlite: { wallets_dir: '/w', allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2, scrypt_r: 3, scrypt_p: 4 } },
      ledger: { disable: true },
    },
    session_lifetime_secs: 0,
    session_max_lifetime_secs: 3600,
    address: '127.0.0.1:1',
    allowed_origins: ['*', 'a'],
    allow_header_pna: true,
    wire: 'documented',
    allowed_hosts: ['keys.example'],
    algod: { url: 'http://127.0.0.1:8080', token: 'x' },
    algod_witnesses: [{ url: 'https://b.example', token: 'y' }],
    approval_webhook: 'https://owner.example/approvals',
    log_level: 'warning',
    log_format: 'json',
    unix_socket: '/run/kmd.sock',
    unix_socket_group: 'kmd',
    unix_socket_uids: [0, 1000],
    audit: 'all',
  }
  assert.deepEqual(parse(all), {
    walletsDir: '/w',
    allowUnsafeScrypt: true,
    scrypt: { n: 2, r: 3, p: 4 },
    disableLedger: true,
    sessionLifetimeSecs: 0,
    sessionMaxLifetimeSecs: 3600,
    address: '127.0.0.1:1',
    allowedOrigins: ['*', 'a'],
    allowHeaderPna: true,
    wire: 'documented',
    allowedHosts: ['keys.example'],
    algod: { url: 'http://127.0.0.1:8080', token: 'x' },
    algodWitnesses: [{ url: 'https://b.example', token: 'y' }],
    approvalWebhook: 'https://owner.example/approvals',
    logLevel: 'warning',
    logFormat: 'json',
    unixSocket: '/run/kmd.sock',
    unixSocketGroup: 'kmd',
    unixSocketUids: [0, 1000],
    audit: 'all',
  })
})

test('a webhook whose traffic others could read is rejected', () => {
  rejects(/^approval_webhook must be an https URL/, () =>
    Config.validate(parse({ approval_webhook: 'http://owner.example/' })),
  )
  Config.validate(parse({ approval_webhook: 'http://127.0.0.1:9/' }))
})

test('a partial section leaves the rest at its default', () => {
  const { scrypt } = parse({ drivers: { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true } } })
  assert.deepEqual(scrypt, { n: 2, r: 1, p: 32 })
})

test('names may be in any case', () => {
  assert.equal(Config.parse('{"SESSION_Lifetime_Secs": 5}').sessionLifetimeSecs, 5)
  assert.equal(Config.parse('{"Drivers":{"SQLite":{"Wallets_Dir":"/w"}}}').walletsDir, '/w')
})

test('anything but a JSON object is rejected', () => {
  for (const text of ['', '{', '{} x', "{'a':1}", '\ufeff{}', '{"a":1,}'])
    rejects(/is not JSON/, () => Config.parse(text))
  for (const json of [5, 'x', [], true]) rejects(/must be an object/, () => parse(json))
  rejects(/^drivers\.sqlite must be an object/, () => parse({ drivers: { sqlite: [] } }))
})

const wrongTypes: [json: unknown, path: RegExp][] = [
  [{ session_lifetime_secs: -1 }, /^session_lifetime_secs must be an integer of at least 0/],
  [{ session_lifetime_secs: 1.5 }, /^session_lifetime_secs/],
  [{ session_lifetime_secs: '60' }, /^session_lifetime_secs/],
  [{ session_lifetime_secs: 1e300 }, /^session_lifetime_secs/],
  [{ session_max_lifetime_secs: -1 }, /^session_max_lifetime_secs must be an integer of at least 0/],
  [{ address: 5 }, /^address must be a string/],
  [{ allowed_origins: '*' }, /^allowed_origins must be a list of strings/],
  [{ allowed_origins: [1] }, /^allowed_origins/],
  [{ allow_header_pna: 'true' }, /^allow_header_pna must be true or false/],
  [{ allow_header_pna: 1 }, /^allow_header_pna/],
  [{ drivers: { sqlite: { scrypt: { scrypt_n: '2' } } } }, /^drivers\.sqlite\.scrypt\.scrypt_n must be an integer/],
  [{ drivers: { sqlite: { scrypt: { scrypt_p: 0.5 } } } }, /^drivers\.sqlite\.scrypt\.scrypt_p/],
  [{ drivers: { ledger: { disable: 0 } } }, /^drivers\.ledger\.disable/],
  [{ wire: 'other' }, /^wire must be one of documented, reference/],
  [{ allowed_hosts: {} }, /^allowed_hosts/],
  [{ algod: 'http://127.0.0.1:8080' }, /^algod must be an object/],
  [{ algod: { url: 8080 } }, /^algod\.url must be a string/],
  [{ algod_witnesses: { url: 'http://n' } }, /^algod_witnesses must be a list of objects/],
  [{ algod_witnesses: ['http://n'] }, /^algod_witnesses\.0 must be an object/],
  [{ algod_witnesses: [{ url: 'http://n' }, { token: 'x' }] }, /^algod_witnesses\.1\.url must be a URL/],
  [{ algod: { url: '', token: 1 } }, /^algod\.token must be a string/],
]
for (const [json, path] of wrongTypes) {
  test(`rejects ${JSON.stringify(json)}`, () => rejects(path, () => parse(json)))
}

test('a blank wire counts as absent', () => assert.equal(parse({ wire: '' }).wire, undefined))

test('a node without url counts as absent; without token, the token is blank', () => {
  for (const algod of [null, {}, { url: '' }, { url: null, token: 'x' }]) {
    assert.equal(parse({ algod }).algod, undefined)
  }
  assert.deepEqual(parse({ algod: { URL: 'http://n' } }).algod, { url: 'http://n', token: '' })
  const witness = { url: 'http://w', token: '' }
  assert.deepEqual(parse({ algod_witnesses: [{ Url: 'http://w' }] }).algodWitnesses, [witness])
  const nine = { ...Config.defaults, algodWitnesses: Array(9).fill(witness) }
  assert.throws(() => Config.validate(nine), /algod_witnesses has too many nodes, must be <= 8/)
})

test('weak scrypt parameters are rejected unless they are allowed', () => {
  const config = (scrypt: object, allow = false): Config.Config =>
    parse({ drivers: { sqlite: { scrypt, allow_unsafe_scrypt: allow } } })
  Config.validate(Config.defaults)
  Config.validate(config({ scrypt_n: 32768 }))
  rejects(/^slow scrypt N must be at least 32768$/, () => Config.validate(config({ scrypt_n: 32767 })))
  rejects(/^slow scrypt R must be at least 1$/, () => Config.validate(config({ scrypt_r: 0 })))
  rejects(/^slow scrypt P must be at least 32$/, () => Config.validate(config({ scrypt_p: 31 })))
  Config.validate(config({ scrypt_n: 2, scrypt_r: 0, scrypt_p: -1 }, true))
})

test('the wallets directory is in the data directory, or at an absolute path', () => {
  assert.equal(Config.walletsDirectory(Config.defaults, '/data'), '/data/sqlite_wallets')
  assert.equal(Config.walletsDirectory({ ...Config.defaults, walletsDir: '/w' }, '/data'), '/w')
  rejects(/^sqlite wallets path must be absolute path$/, () =>
    Config.validate({ ...Config.defaults, walletsDir: 'relative' }),
  )
})

test('the example has the defaults, indented by tabs, and every setting of the reference in its order', () => {
  const example = Config.example()
  assert.deepEqual(Config.parse(example), Config.defaults)
  assert.match(example, /^\{\n\t"drivers": \{\n\t\t"sqlite": \{\n\t\t\t"wallets_dir": "",/)
  assert.ok(example.endsWith('}\n'))
  const names = [...example.matchAll(/"(\w+)":/g)].map(([, name]) => name)
  assert.deepEqual(names, [
    ...['drivers', 'sqlite', 'wallets_dir', 'allow_unsafe_scrypt', 'scrypt', 'scrypt_n', 'scrypt_r', 'scrypt_p'],
    ...['ledger', 'disable', 'session_lifetime_secs', 'address', 'allowed_origins', 'allow_header_pna'],
  ])
})

test('unknown names are reported, with a suggestion', () => {
  const text = JSON.stringify({
    sesion_lifetime_secs: 1,
    SESSION_LIFETIME_SECS: 2,
    something_else: {},
    drivers: { sqlite: { scrypt: { scrypt_m: 1 } }, ledger: null },
    algod: { URL: 'http://127.0.0.1:1', tokn: '' },
  })
  assert.deepEqual(Config.unknownSettings(text), [
    'sesion_lifetime_secs in kmd_config.json is not a setting and is ignored; did you mean session_lifetime_secs?',
    'something_else in kmd_config.json is not a setting and is ignored',
    'drivers.sqlite.scrypt.scrypt_m in kmd_config.json is not a setting and is ignored; did you mean scrypt_n?',
    'algod.tokn in kmd_config.json is not a setting and is ignored; did you mean token?',
  ])
  assert.equal(Config.parse(text).sessionLifetimeSecs, 2)
  assert.deepEqual(Config.unknownSettings(Config.example()), [])
})

test('a misspelled wire gets a suggestion as its hint', () => {
  assert.throws(() => Config.parse('{"wire":"refrence"}'), { code: 'invalid_config', hint: 'did you mean reference?' })
})

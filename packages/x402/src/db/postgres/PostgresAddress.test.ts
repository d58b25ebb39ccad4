import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as PostgresAddress from './PostgresAddress.js'

const none = {}

test('reads host, port, database, user and password', () => {
  const found = PostgresAddress.parse('postgres://a%40b:s%2Fe%3Ft@db.example:6543/x%20y', none)
  assert.deepEqual(
    { ...found, tls: undefined },
    {
      host: 'db.example',
      port: 6543,
      database: 'x y',
      user: 'a@b',
      password: 's/e?t',
      sslMode: 'prefer',
      tls: undefined,
      applicationName: undefined,
      connectTimeoutMs: undefined,
      options: undefined,
    },
  )
  assert.equal(PostgresAddress.describe(found), 'db.example:6543/x y')
})

test('takes missing parts from the environment', () => {
  const environment = { PGHOST: 'elsewhere', PGPORT: '7777', PGUSER: 'u', PGPASSWORD: 'p', PGSSLMODE: 'disable' }
  const found = PostgresAddress.parse('postgresql://db.example/d', environment)
  assert.equal(found.host, 'db.example')
  assert.equal(found.port, 7777)
  assert.equal(found.user, 'u')
  assert.equal(found.password, 'p')
  assert.equal(found.sslMode, 'disable')
  assert.equal(PostgresAddress.parse(undefined, environment).database, 'u')
})

test('accepts the directory of a socket as a host, without TLS', () => {
  for (const address of ['postgres:///d?host=/run/pg', 'postgres://u@/d?host=/run/pg', 'postgres://%2Frun%2Fpg/d']) {
    const found = PostgresAddress.parse(address, { PGSSLMODE: 'verify-full' })
    assert.equal(found.host, '/run/pg', address)
    assert.equal(found.database, 'd')
    assert.equal(found.tls, undefined)
  }
})

test('removes the brackets of an IPv6 address', () => {
  const found = PostgresAddress.parse('postgres://u@[::1]:5433/d', none)
  assert.equal(found.host, '::1')
  assert.equal(PostgresAddress.describe(found), '[::1]:5433/d')
})

test('verify-full checks the certificate and the name, and require checks neither', () => {
  const full = PostgresAddress.parse('postgres://db.example/d?sslmode=verify-full', none).tls!
  assert.equal(full.rejectUnauthorized, true)
  assert.equal(full.checkServerIdentity, undefined)
  assert.equal(PostgresAddress.parse('postgres://db.example/d?sslmode=require', none).tls!.rejectUnauthorized, false)
})

test('refuses an address that it does not understand, and never repeats the password', () => {
  const wrong = [
    'mysql://u:hunter2@h/d',
    'postgres://u:hunter2@h/d?sslmod=verify-full',
    'postgres://u:hunter2@h/d?sslmode=allow',
    'postgres://u:hunter2@h/d?sslmode=verify-ca',
    'postgres://u:hunter2@h:0/d',
    'postgres://u:hunter2@h:port/d',
    'postgres://u:hunter2@h,i/d',
    'postgres://u:hunter2%@h/d',
    'postgres://u:hunter2@h/d?connect_timeout=hunter2',
    'postgres://u:hunter2@h/d?sslmode=verify-ca&sslrootcert=/nowhere/at/all',
    `postgres://u:hunter2@h/${'d'.repeat(5_000)}`,
  ]
  for (const address of wrong) {
    assert.throws(
      () => PostgresAddress.parse(address, none),
      (error: Error & { code?: string; hint?: string }) => {
        assert.equal(error.code, 'store_failed', address)
        assert.doesNotMatch(`${error.message} ${error.hint} ${error.stack} ${error.cause ?? ''}`, /hunter2/, address)
        return true
      },
    )
  }
})

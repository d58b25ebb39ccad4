/** Tests TLS to a real server, with a certificate authority made for the test. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { PostgresConnection } from '@latchkey/x402/postgres'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'

const directory = mkdtempSync(join(tmpdir(), 'latchkey-tls-'))
after(() => rmSync(directory, { recursive: true, force: true }))
const at = (name: string): string => join(directory, name)

const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe', cwd: directory })

/** Makes a server certificate for `localhost` only, with its own authority. */
function makeCertificates(): boolean {
  try {
    for (const authority of ['ca', 'other']) {
      const subject = ['-subj', `/CN=latchkey test ${authority}`, '-days', '2']
      openssl(
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-keyout',
        `${authority}.key`,
        '-out',
        `${authority}.crt`,
        ...subject,
      )
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'server.key',
    '-out',
    'server.csr',
    '-subj',
    '/CN=localhost',
  )
  writeFileSync(at('server.ext'), 'subjectAltName=DNS:localhost\n')
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'server.ext']
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.crt', ...signing)
  // The server refuses a key that others can read, and does not run as root.
  if (process.getuid?.() === 0) for (const name of [directory, at('server.key')]) chownSync(name, 65_534, 65_534)
  return true
}

const hasOpenssl = makeCertificates()
const skip = hasOpenssl ? false : 'openssl is not installed'

test('sslmode decides what is encrypted, and which server is trusted', { skip }, async (t) => {
  const settings = { ssl: 'on', ssl_cert_file: at('server.crt'), ssl_key_file: at('server.key') }
  const server = await PostgresServer.start(t, { settings })
  const byAddress = await emptyDatabase(server)
  const byName = byAddress.replace('127.0.0.1', 'localhost')
  const outcome = async (address: string, parameters: string): Promise<string> => {
    const options = { address: `${address}?${parameters}`, environment: {}, retryMs: 0 }
    const connection = await PostgresConnection.open(options).catch((error: Error) => error)
    if (connection instanceof Error) return connection.message.replace(/^.*: /, '')
    const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    const [row] = await connection.read({ name: 'ssl', text })
    await connection.close()
    return row!['ssl'] === true ? 'encrypted' : 'plain'
  }
  const [root, other] = [`sslrootcert=${at('ca.crt')}`, `sslrootcert=${at('other.crt')}`]
  const refused = 'its certificate is not accepted'
  const cases: [address: string, parameters: string, expected: string][] = [
    [byName, 'sslmode=disable', 'plain'],
    [byName, '', 'encrypted'],
    [byName, 'sslmode=prefer', 'encrypted'],
    [byName, 'sslmode=require', 'encrypted'],
    [byName, `sslmode=require&${other}`, refused],
    [byName, `sslmode=verify-ca&${root}`, 'encrypted'],
    [byAddress, `sslmode=verify-ca&${root}`, 'encrypted'],
    [byName, `sslmode=verify-ca&${other}`, refused],
    [byName, `sslmode=verify-full&${root}`, 'encrypted'],
    [byName, 'sslmode=verify-full', refused],
    [byName, `sslmode=verify-full&${other}`, refused],
    // The certificate has a different name.
    [byAddress, `sslmode=verify-full&${root}`, refused],
  ]
  for (const [address, parameters, expected] of cases) {
    assert.equal(await outcome(address, parameters), expected, `${new URL(address).hostname} ${parameters}`)
  }
})

test('a server without TLS is refused if TLS is required, and used if it is preferred', async (t) => {
  const server = await PostgresServer.start(t)
  const address = await emptyDatabase(server)
  const open = (mode: string) =>
    PostgresConnection.open({ address: `${address}?sslmode=${mode}`, environment: {}, retryMs: 0 })
  for (const mode of ['require', 'verify-full']) await assert.rejects(open(mode), /it does not offer TLS/)
  await (await open('prefer')).close()
})

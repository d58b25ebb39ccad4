/**
 * Reads a wallet database without any of the daemon's code: SQLite directly, scrypt of `node:crypto`, secretbox of
 * tweetnacl, and a msgpack reader of the tests. The reader checks everything it reads, so reading a file is a test.
 */
import assert from 'node:assert/strict'
import { scryptSync } from 'node:crypto'
import { DatabaseSync } from '@photostructure/sqlite'
import nacl from 'tweetnacl'
import * as Msgpack from './msgpack.test.helper.js'

type Row = { [column: string]: unknown }

export type Blob = {
  ciphertext: Buffer
  doScrypt: boolean
  nonce: Buffer
  salt: Buffer
  scrypt: { N: number; r: number; p: number }
}

export type WalletFile = {
  /** The schema that the Go daemon writes: tables, columns, indexes, settings. */
  layout: { [what: string]: unknown }
  /** The SQLite types of the values, a set per column. */
  types: { [column: string]: string[] }
  id: string
  name: string
  driver: [name: unknown, version: unknown]
  masterKey: Blob
  masterDerivationKey: Blob
  maxKeyIndex: Blob
  keys: { address: Buffer; secretKey: Blob; index: number | null }[]
  multisigs: { address: Buffer; version: number; threshold: number; publicKeys: Buffer[] }[]
}

export function readWalletFile(path: string): WalletFile {
  const database = new DatabaseSync(path, { readOnly: true })
  const all = (sql: string): Row[] => database.prepare(sql).all() as Row[]
  try {
    const metadata = all('SELECT * FROM metadata')
    assert.equal(metadata.length, 1, 'metadata is one row')
    const row = metadata[0]!
    return {
      layout: readLayout(all),
      types: readTypes(all),
      id: bytes(row['wallet_id']).toString(),
      name: bytes(row['wallet_name']).toString(),
      driver: [row['driver_name'], row['driver_version']],
      masterKey: readBlob(row['mep_encrypted']),
      masterDerivationKey: readBlob(row['mdk_encrypted']),
      maxKeyIndex: readBlob(row['max_key_idx_encrypted']),
      keys: all('SELECT * FROM keys').map((key) => ({
        address: bytes(key['address']),
        secretKey: readBlob(key['secret_key_encrypted']),
        index: key['key_idx'] as number | null,
      })),
      multisigs: all('SELECT * FROM msig_addrs').map((multisig) => ({
        address: bytes(multisig['address']),
        version: multisig['version'] as number,
        threshold: multisig['threshold'] as number,
        publicKeys: Msgpack.items(Msgpack.parse(bytes(multisig['pks']))).map(Msgpack.bin),
      })),
    }
  } finally {
    database.close()
  }
}

/** Derives the key of a password. Node's scrypt requires N < 2^(16 r), which a default wallet does not meet. */
export function passwordKey(blob: Blob, password: string): Buffer {
  const { N, r, p } = blob.scrypt
  return scryptSync(Buffer.from(password), blob.salt, 32, { N, r, p })
}

/** Decrypts a blob and checks its type. */
export function openBlob(blob: Blob, key: Uint8Array, type: string): Buffer {
  const message = nacl.secretbox.open(blob.ciphertext, blob.nonce, key)
  assert.ok(message !== null, `the ${type} does not open`)
  const { names, members } = Msgpack.parseMap(message)
  assert.deepEqual(names, ['plaintext', 'plaintext_type'])
  assert.equal(Msgpack.str(members.get('plaintext_type')), type)
  return Msgpack.bin(members.get('plaintext'))
}

function readBlob(value: unknown): Blob {
  const { names, members } = Msgpack.parseMap(bytes(value))
  assert.deepEqual(names, ['ciphertext', 'do_scrypt', 'nonce', 'salt', 'scrypt_n', 'scrypt_p', 'scrypt_r'])
  const blob = {
    ciphertext: Msgpack.bin(members.get('ciphertext')),
    doScrypt: Msgpack.bool(members.get('do_scrypt')),
    nonce: Msgpack.bin(members.get('nonce')),
    salt: Msgpack.bin(members.get('salt')),
    scrypt: {
      N: Msgpack.uint(members.get('scrypt_n')),
      r: Msgpack.uint(members.get('scrypt_r')),
      p: Msgpack.uint(members.get('scrypt_p')),
    },
  }
  assert.equal(blob.nonce.length, 24)
  assert.equal(blob.salt.length, 32)
  if (!blob.doScrypt) {
    assert.deepEqual(blob.scrypt, { N: 0, r: 0, p: 0 })
    assert.deepEqual(blob.salt, Buffer.alloc(32))
  }
  return blob
}

function readLayout(all: (sql: string) => Row[]): WalletFile['layout'] {
  const layout: WalletFile['layout'] = {}
  for (const { type, name, tbl_name, sql } of all('SELECT type, name, tbl_name, sql FROM sqlite_schema')) {
    const normal = typeof sql === 'string' ? sql.replace(/\s+/g, ' ') : sql
    layout[`${type} ${name} of ${tbl_name}`] = normal
  }
  for (const pragma of ['page_size', 'journal_mode', 'user_version', 'encoding', 'auto_vacuum', 'application_id']) {
    layout[pragma] = all(`PRAGMA ${pragma}`)[0]?.[pragma]
  }
  assert.deepEqual(all('PRAGMA integrity_check')[0], Object.assign(Object.create(null), { integrity_check: 'ok' }))
  return layout
}

const columns = {
  metadata: [
    'driver_name',
    'driver_version',
    'wallet_id',
    'wallet_name',
    'mep_encrypted',
    'mdk_encrypted',
    'max_key_idx_encrypted',
  ],
  keys: ['address', 'secret_key_encrypted', 'key_idx'],
  msig_addrs: ['address', 'version', 'threshold', 'pks'],
} as const

function readTypes(all: (sql: string) => Row[]): WalletFile['types'] {
  const types: WalletFile['types'] = {}
  for (const [table, names] of Object.entries(columns)) {
    for (const name of names) {
      const rows = all(`SELECT DISTINCT typeof(${name}) AS type FROM ${table} ORDER BY type`)
      types[`${table}.${name}`] = rows.map(({ type }) => type as string)
    }
  }
  return types
}

function bytes(value: unknown): Buffer {
  assert.ok(value instanceof Uint8Array, `a BLOB was expected, not ${typeof value}`)
  return Buffer.from(value)
}

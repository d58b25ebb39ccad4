/** Wallet files created without a password derivation, and access to their stored content. */
import { randomBytes } from 'node:crypto'
import { utimesSync } from 'node:fs'
import * as Blob from '../wallet/Blob.js'
import * as CheckedDatabase from '../wallet/CheckedDatabase.js'
import * as Sqlite from '../wallet/Sqlite.js'
import { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { WalletFiles } from '../wallet/WalletFile.js'

export const masterKey = Buffer.alloc(32, 1)
export const masterDerivationKey = Buffer.alloc(32, 2)

/** Stands for the wrapped master key. No password opens it. */
export const wrapped = Uint8Array.of(1)

/** A wallet that only `masterKey` opens. */
export function createFile(path: string, { id = randomBytes(8).toString('hex'), name = 'name' } = {}): Buffer {
  CheckedDatabase.create(
    path,
    { id: Buffer.from(id), name: Buffer.from(name) },
    {
      masterKey: wrapped,
      masterDerivationKey: Blob.seal('master_derivation_key', masterDerivationKey, masterKey),
      maxKeyIndex: Blob.seal('max_key_idx', Uint8Array.of(0), masterKey),
    },
  )
  return Buffer.from(id)
}

export function unlock(path: string, id: Buffer, files: WalletFiles, password = 'secret'): UnlockedWallet {
  const secrets = { masterKey, masterDerivationKey, password: Buffer.from(password) }
  return new UnlockedWallet({ id, path, files, secrets, wrapped })
}

/** Runs SQL as another program would. */
export function sql(path: string, statement: string, ...parameters: (Uint8Array | string | number)[]): unknown[] {
  const database = Sqlite.open(path)
  try {
    return database.prepare(statement).all(...parameters)
  } finally {
    Sqlite.close(database)
  }
}

/** Holds the database as another program would, until the returned function is called. */
export function hold(path: string): () => void {
  const database = Sqlite.open(path)
  database.exec('BEGIN EXCLUSIVE')
  return () => {
    database.exec('ROLLBACK')
    Sqlite.close(database)
  }
}

/** Makes the last change look old. */
export function age(path: string, seconds = 3600): void {
  const moment = Date.now() / 1000 - seconds
  utimesSync(path, moment, moment)
}

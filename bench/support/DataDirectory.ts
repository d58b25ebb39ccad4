/** Manages data directories of daemons under measurement and adds wallets to them without a daemon. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

export const apiToken = 'b'.repeat(64)

/** Default key derivation, or free key derivation for wallets that are never unlocked. */
export type Scrypt = 'default' | 'unsafe'

const unsafeScrypt = { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2, scrypt_r: 1, scrypt_p: 1 } } }

export type Wallet = { id: string; name: string }

export function create(path: string, scrypt: Scrypt = 'default'): string {
  mkdirSync(path, { mode: 0o700 })
  mkdirSync(walletsOf(path), { mode: 0o700 })
  const config = {
    address: '127.0.0.1:0',
    session_lifetime_secs: 3600,
    ...(scrypt === 'unsafe' ? { drivers: unsafeScrypt } : {}),
  }
  writeFileSync(join(path, 'kmd_config.json'), JSON.stringify(config), { mode: 0o600 })
  writeFileSync(join(path, 'kmd.token'), apiToken, { mode: 0o600 })
  return path
}

export const walletsOf = (dataDir: string): string => join(dataDir, 'sqlite_wallets')

/**
 * Copies a wallet into a data directory several times, each copy with its own name and id. Keys and password remain
 * those of the template. Ids are derived from names, so every daemon gets the same wallets.
 */
export function copyWallet(template: string, dataDir: string, names: readonly string[]): Wallet[] {
  return names.map((name) => {
    const id = createHash('sha256').update(name).digest('hex').slice(0, 32)
    const file = join(walletsOf(dataDir), `${name}.${id}.db`)
    copyFileSync(template, file)
    const database = new DatabaseSync(file)
    // Daemons store both as blobs and look them up as blobs. Journal and sync are off, because a lost fixture costs
    // nothing.
    database.exec(
      `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
       UPDATE metadata SET wallet_id = ${blob(id)}, wallet_name = ${blob(name)}`,
    )
    database.close()
    return { id, name }
  })
}

const blob = (text: string): string => `x'${Buffer.from(text).toString('hex')}'`

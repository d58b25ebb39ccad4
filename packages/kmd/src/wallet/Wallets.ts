/** Creates, lists, unlocks, renames and removes the wallets on disk. */
import { renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import type { ScryptPool } from '../derivation/ScryptPool.js'
import { KmdError } from '../errors.js'
import { BlankPasswords } from './BlankPasswords.js'
import * as Blob from './Blob.js'
import * as CheckedDatabase from './CheckedDatabase.js'
import type { PasswordThrottle } from './PasswordThrottle.js'
import * as Secret from './Secret.js'
import * as Sqlite from './Sqlite.js'
import { UnlockedWallet } from './UnlockedWallet.js'
import { type Entry, type Problem, WalletDirectory } from './WalletDirectory.js'
import { type WalletFile, WalletFiles } from './WalletFile.js'
import type { Encrypted } from './WalletFormat.js'

export const maxNameLength = 64

export type WalletInfo = { id: Buffer; name: Buffer }

export type WalletsOptions = {
  directory: string
  /** Parameters for new wallets. An existing wallet is opened with its own. */
  scrypt: Blob.Scrypt
  derivation: Pick<ScryptPool, 'derive'>
  throttle: PasswordThrottle
  /** Called once for each file that is not a wallet or is damaged, and again after the file changes. */
  onProblem?: (problem: Problem) => void
}

export type RemoveOptions = {
  onRemove?: () => void
  beforeRemove?: <T>(remove: () => Promise<T>) => Promise<T>
}

export class Wallets {
  readonly #options: WalletsOptions
  readonly #directory: WalletDirectory
  readonly #files = new WalletFiles({ onProblem: (problem) => this.#directory.report(problem) })
  readonly #blankPasswords = new BlankPasswords()
  /** Names claimed by a creation or rename in progress. */
  readonly #reserved = new Set<string>()

  constructor(options: WalletsOptions) {
    this.#options = options
    this.#directory = new WalletDirectory(options.directory, options)
  }

  list(): Promise<readonly Entry[]> {
    return this.#directory.entries()
  }

  /** The rejected or damaged files in the wallets directory, as of the last listing. */
  problems(): readonly Problem[] {
    return this.#directory.problems()
  }

  find(key: string): Promise<Entry> {
    return this.#directory.find(key)
  }

  /**
   * Whether the wallet's file currently has a key. Needs no password.
   *
   * @throws if the file cannot be read, or another program holds it
   */
  hasKey(entry: Entry, publicKey: Uint8Array): boolean {
    return this.#files.getWallet(entry.path, entry.id).hasKey(publicKey)
  }

  /** Like `WalletFile.revision`: while it stays the same, so does the result of `hasKey`. @throws as `hasKey` */
  revision(entry: Entry): number | undefined {
    return this.#files.revision(entry.path, entry.id)
  }

  /**
   * Creates a wallet. A blank name is replaced by the id, and an all-zero or absent master derivation key by a random
   * one.
   */
  async create(options: { name: Buffer; password: Buffer; masterDerivationKey: Buffer }): Promise<WalletInfo> {
    const id = Buffer.from(Secret.randomBytes(16).toString('hex'))
    const name = options.name.length === 0 ? id : Buffer.from(options.name)
    if (name.length > maxNameLength) throw new KmdError('name_too_long')
    await this.#takeName(name, async () => {
      const masterKey = Secret.random(Blob.keyLength)
      const masterDerivationKey = Secret.random(Blob.keyLength)
      try {
        if (options.masterDerivationKey.some((byte) => byte !== 0)) masterDerivationKey.set(options.masterDerivationKey)
        const encrypted = {
          masterKey: await this.#wrap(masterKey, options.password),
          masterDerivationKey: Blob.seal('master_derivation_key', masterDerivationKey, masterKey),
          maxKeyIndex: Blob.seal('max_key_idx', Uint8Array.of(0), masterKey),
        }
        const file = fileName(name, id)
        await Sqlite.retryWhileLocked(() =>
          CheckedDatabase.create(join(this.#options.directory, file), { id, name }, encrypted),
        )
        this.#directory.touch(file)
      } finally {
        Secret.free(masterKey)
        Secret.free(masterDerivationKey)
      }
    })
    return { id, name }
  }

  /** Checks the name first, then the password, like the reference. */
  async rename(options: { key: string; password: Buffer; name: Buffer }): Promise<WalletInfo> {
    const entry = await this.find(options.key)
    const name = Buffer.from(options.name)
    if (name.length === 0) throw new KmdError('name_blank')
    if (name.length > maxNameLength) throw new KmdError('name_too_long')
    await this.#takeName(name, () =>
      this.#withMasterKey(entry, options.password, async (_masterKey, wrapped) => {
        if (!(await this.#write(entry, (file) => file.rename(name, wrapped)))) return rewrapped
        this.#directory.touch(entry.file)
        return undefined
      }),
    )
    return { id: entry.id, name }
  }

  /**
   * Unlocks a wallet and passes it to `open` in the same step that confirms the password is still current. If the
   * password was changed in the meantime, nothing is opened. A later password change can end everything that `open`
   * keeps.
   */
  unlock<T>(entry: Entry, password: Buffer, open: (wallet: UnlockedWallet) => T): Promise<T> {
    return this.#withMasterKey(entry, password, (masterKey, wrapped) =>
      Sqlite.retryWhileLocked(() => {
        const stored = this.#readUnchanged(entry, wrapped)
        if (stored === undefined) return rewrapped
        return Blob.open('master_derivation_key', stored.masterDerivationKey, masterKey, (masterDerivationKey) => {
          if (masterDerivationKey.length !== Blob.keyLength) throw new KmdError('damaged_blob')
          const secrets = { masterKey, masterDerivationKey, password }
          return open(new UnlockedWallet({ id: entry.id, path: entry.path, files: this.#files, secrets, wrapped }))
        })
      }),
    )
  }

  /**
   * Wraps the master key again with the new password and the current parameters. The keys are not changed. `onChange`
   * is called in the same step as the change, to end everything opened with the old password.
   */
  async changePassword(
    entry: Entry,
    options: { password: Buffer; newPassword: Buffer; onChange: () => void },
  ): Promise<void> {
    await this.#withMasterKey(entry, options.password, async (masterKey, wrapped) => {
      const next = await this.#wrap(masterKey, options.newPassword)
      const isChanged = await this.#write(entry, (file) => {
        const isSame = file.rewrap(next, wrapped)
        if (isSame) options.onChange()
        return isSame
      })
      if (!isChanged) return rewrapped
      this.#directory.touch(entry.file)
      return undefined
    })
  }

  /**
   * Removes a wallet. Its file stays in the directory under a name that no kmd reads. `onRemove` is called in the same
   * step, to end open handles. `beforeRemove` is called after the password was checked, and runs the removal itself.
   */
  async remove(
    entry: Entry,
    password: Buffer,
    { onRemove = () => {}, beforeRemove = (remove) => remove() }: RemoveOptions = {},
  ): Promise<string> {
    const moment = new Date().toISOString().replaceAll(':', '-')
    const aside = join(dirname(entry.path), `${basename(entry.path)}.deleted-${moment}`)
    await this.#withMasterKey(entry, password, async (_masterKey, wrapped) => {
      // `beforeRemove` must not end anything if the password is no longer current.
      if ((await Sqlite.retryWhileLocked(() => this.#readUnchanged(entry, wrapped))) === undefined) return rewrapped
      return beforeRemove(() =>
        Sqlite.retryWhileLocked(() => {
          if (this.#readUnchanged(entry, wrapped) === undefined) return rewrapped
          this.#files.close(entry.path)
          renameSync(entry.path, aside)
          onRemove()
          return undefined
        }),
      )
    })
    await AtomicFile.syncDirectory(aside)
    this.#directory.touch(entry.file)
    return aside
  }

  close(): void {
    this.#files.closeAll()
    this.#directory.close()
  }

  async #takeName(name: Buffer, work: () => Promise<void>): Promise<void> {
    const reservation = name.toString('latin1')
    if ((await this.#directory.hasName(name)) || this.#reserved.has(reservation)) throw new KmdError('name_taken')
    this.#reserved.add(reservation)
    try {
      await work()
    } finally {
      this.#reserved.delete(reservation)
    }
  }

  async #wrap(masterKey: Uint8Array, password: Buffer): Promise<Uint8Array> {
    const salt = Secret.randomBytes(Blob.saltLength)
    const { scrypt } = this.#options
    const key = await this.#derive(password, salt, scrypt)
    try {
      return Blob.sealWithPasswordKey('master_key', masterKey, key, salt, scrypt)
    } finally {
      Secret.wipe(key)
    }
  }

  /**
   * Runs `work` with the master key and the wrapped form it was opened from. The key is in protected memory that is
   * freed afterwards. The password may change during the slow derivation, so `work` checks it in the same step as its
   * own change (`#readUnchanged`, `#write`) and returns `rewrapped` if it did. Then the operation is retried with the
   * file's new content. Wrong passwords count against the wallet.
   */
  async #withMasterKey<T>(
    entry: Entry,
    password: Buffer,
    work: (masterKey: Buffer, wrapped: Uint8Array) => Promise<T | typeof rewrapped>,
  ): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      const { masterKey, wrapped } = await this.#unwrap(entry, password)
      try {
        const result = await work(masterKey, wrapped)
        if (result !== rewrapped) return result
      } finally {
        Secret.free(masterKey)
      }
    }
    throw new KmdError('database_locked', {
      cause: new Error("the wallet's password was changed repeatedly during the request"),
    })
  }

  /** The file's current content; undefined if the wrapped master key is no longer the one that was opened. */
  #readUnchanged(entry: Entry, wrapped: Uint8Array): Encrypted | undefined {
    const stored = this.#files.getWallet(entry.path, entry.id).encrypted()
    return Buffer.compare(stored.masterKey, wrapped) === 0 ? stored : undefined
  }

  /** Makes a change that returns false if the wrapped master key is no longer the one that was opened. */
  #write(entry: Entry, change: (file: WalletFile) => boolean): Promise<boolean> {
    return Sqlite.retryWhileLocked(() => change(this.#files.getWallet(entry.path, entry.id)))
  }

  async #unwrap(entry: Entry, password: Buffer): Promise<{ masterKey: Buffer; wrapped: Uint8Array }> {
    const stored = await Sqlite.retryWhileLocked(() => this.#files.getWallet(entry.path, entry.id).encrypted())
    const wrapped = stored.masterKey
    const blob = Blob.decode(wrapped)
    const check = (): Promise<Buffer> => this.#open(blob, password)
    const masterKey =
      password.length === 0
        ? await this.#blankPasswords.attempt(entry.key, wrapped, check)
        : await this.#options.throttle.attempt(entry.key, check)
    return { masterKey, wrapped }
  }

  async #open(blob: Blob.Blob, password: Buffer): Promise<Buffer> {
    const key = blob.passwordDerived ? await this.#derive(password, blob.salt, blob.scrypt) : Buffer.from(password)
    try {
      if (key.length !== Blob.keyLength) throw new KmdError('bad_scrypt_parameters')
      return Blob.decrypt('master_key', blob, key, (plaintext) => {
        if (plaintext.length !== Blob.keyLength) throw new KmdError('damaged_blob')
        const masterKey = Secret.allocate(Blob.keyLength)
        masterKey.set(plaintext)
        return masterKey
      })
    } finally {
      Secret.wipe(key)
    }
  }

  #derive(password: Buffer, salt: Uint8Array, scrypt: Blob.Scrypt): Promise<Uint8Array> {
    return this.#options.derivation.derive({ password, salt, ...scrypt, keyLength: Blob.keyLength })
  }
}

/** The name and id without characters that are special to a file system. */
function fileName(name: Buffer, id: Buffer): string {
  const safeName = name.toString('latin1').replace(/[^A-Za-z0-9_-]/g, '')
  const safeId = id.toString('latin1')
  return safeName === safeId ? `${safeId}.db` : `${safeName}.${safeId}.db`
}

/** How often an operation restarts because the password was changed in the meantime. */
const mostTries = 3

/** The password was changed while an operation with the old one was in progress. */
const rewrapped: unique symbol = Symbol('rewrapped')

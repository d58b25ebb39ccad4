/** The passes of a buyer in a directory, with one file for each, so that concurrent processes need no lock. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Bytes, Hash } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { maxPasses, type PassCache, parseStoredPass, passKeyOf, type StoredPass } from '../buyer/PaidRequest.js'

const ownerOnly = 0o600
const maxFileBytes = 512 * 1024
const isName = /^[\w-]{43}\.json$/

/** Passes in files that only their owner can read. */
export class FilePassCache implements PassCache {
  readonly #directory: string

  /** @param directory created with the first pass */
  constructor(directory: string) {
    this.#directory = directory
  }

  all(origin: string): StoredPass[] {
    return this.#names().flatMap((name) => {
      const pass = this.#read(name)
      if (pass !== undefined && pass.untilMs > Date.now()) return pass.origin === origin ? [pass] : []
      rmSync(join(this.#directory, name), { force: true })
      return []
    })
  }

  put(pass: StoredPass): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    const name = nameOf(pass.origin, pass.scope)
    const names = this.#names()
    if (names.length >= maxPasses && !names.includes(name)) this.#removeOldest(names)
    // Replaced atomically, so that another process reads either the old file or the new one.
    const temporary = join(this.#directory, `${process.pid}-${Bytes.toHex(Bytes.random(8))}.tmp`)
    AtomicFile.replaceSync(join(this.#directory, name), JSON.stringify(pass), ownerOnly, temporary)
  }

  remove(origin: string, scope: string): void {
    rmSync(join(this.#directory, nameOf(origin, scope)), { force: true })
  }

  #names(): string[] {
    try {
      return readdirSync(this.#directory).filter((name) => isName.test(name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }

  #read(name: string): StoredPass | undefined {
    const path = join(this.#directory, name)
    try {
      if (statSync(path).size > maxFileBytes) return undefined
      const pass = parseStoredPass(JSON.parse(readFileSync(path, 'utf8')))
      return pass !== undefined && name === nameOf(pass.origin, pass.scope) ? pass : undefined
    } catch {
      return undefined
    }
  }

  #removeOldest(names: readonly string[]): void {
    const times = names.map((name) => ({ name, untilMs: this.#read(name)?.untilMs ?? 0 }))
    const [first] = times.sort((a, b) => a.untilMs - b.untilMs)
    rmSync(join(this.#directory, first!.name), { force: true })
  }
}

function nameOf(origin: string, scope: string): string {
  return `${Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(passKeyOf(origin, scope))))}.json`
}

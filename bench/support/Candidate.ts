/** Represents one daemon program in the comparison: its command, its data directories and its samples. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as DataDirectory from './DataDirectory.js'
import type { Fixtures } from './Fixtures.js'
import { Instance } from './Instance.js'

export type Identity = { name: string; command: string[]; shownCommand: string; nodeVersion?: string }

export class Candidate {
  readonly identity: Identity
  /** The samples of each quantity, in the order of the rounds. */
  readonly samples = new Map<string, number[]>()
  /** Runs throughout; most measurements use it. */
  readonly main: Instance
  readonly #root: string

  private constructor(identity: Identity, root: string, main: Instance) {
    this.identity = identity
    this.main = main
    this.#root = root
  }

  /** `root` is an empty directory for its data directories. */
  static async create(identity: Identity, root: string, fixtures: Fixtures): Promise<Candidate> {
    const dataDir = DataDirectory.create(join(root, 'main'))
    return new Candidate(identity, root, await Instance.start(identity.command, dataDir, fixtures))
  }

  /** Returns the data directory of this name, created without wallets on the first call. */
  dataDir(name: string): string {
    const path = join(this.#root, name)
    return existsSync(path) ? path : DataDirectory.create(path)
  }

  record(quantity: string, value: number): void {
    const values = this.samples.get(quantity) ?? []
    values.push(value)
    this.samples.set(quantity, values)
  }
}

/** The tarballs of all packages, as they would be published. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.js'

export type Tarball = {
  readonly name: string
  readonly version: string
  /** Its path. */
  readonly path: string
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

type Report = Omit<Tarball, 'path'> & { readonly filename: string }

/** Packs everything into a folder that is gone after the tests of this file. */
export async function packAll(): Promise<Tarball[]> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tarballs-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const { pack } = (await import(pathToFileURL(join(root, 'scripts', 'pack.mjs')).href)) as {
    pack: (folder: string) => Report[]
  }
  return pack(folder).map(({ filename, ...report }) => ({ ...report, path: join(folder, filename) }))
}

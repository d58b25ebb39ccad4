/** Packs the tarballs of all packages, as they would be published. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'

export type Tarball = {
  readonly name: string
  readonly version: string
  /** Its path. */
  readonly path: string
  readonly dependencies: { readonly [name: string]: string }
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

type Report = Omit<Tarball, 'path' | 'dependencies'> & { readonly filename: string }
type Package = { readonly manifest: { readonly name: string; readonly dependencies?: Tarball['dependencies'] } }

let packed: readonly Tarball[] | undefined

/**
 * Packs everything once for all files of this process. Keeps no promise: the test runner would count tests after it to
 * the file that created it.
 */
export async function packAll(): Promise<readonly Tarball[]> {
  packed ??= await packOnce()
  return packed
}

async function packOnce(): Promise<Tarball[]> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tarballs-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { pack } = (await load('pack.mjs')) as { pack: (folder: string) => Report[] }
  const { publishedPackages } = (await load('packages.mjs')) as { publishedPackages: () => Package[] }
  const dependencies = new Map(publishedPackages().map(({ manifest }) => [manifest.name, manifest.dependencies ?? {}]))
  return pack(folder).map(({ filename, ...report }) => ({
    ...report,
    path: join(folder, filename),
    dependencies: dependencies.get(report.name)!,
  }))
}

function load(script: string): Promise<unknown> {
  return import(pathToFileURL(join(root, 'scripts', script)).href)
}

/** Builds the reference pages, which are not committed, into a temporary directory. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'

/** Pages that `npm run docs` builds, as paths below the root; more of them are in `docs/api`. */
export const referenceNames: readonly string[] = ['http.md', 'cli.md', 'errors.md', 'payment-errors.md'].map(
  (name) => `docs/${name}`,
)

/** Whether a page is built rather than committed. */
export const isReference = (page: string): boolean => referenceNames.includes(page) || page.startsWith('docs/api/')

/** Loads a script of the repository. */
export async function loadScript<Exports>(name: string): Promise<Exports> {
  return (await import(pathToFileURL(join(root, 'scripts', name)).href)) as Exports
}

/** The built pages, by their path below the root. */
export type Reference = {
  readonly pages: readonly string[]
  readonly textOf: (page: string) => string
}

/** Builds every page into a directory that is removed after the tests of this file. */
export async function buildReference(): Promise<Reference> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-docs-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  const { writeReference } = await loadScript<{ writeReference: (folder: string) => Promise<string[]> }>('docs.mjs')
  const paths = await writeReference(join(directory, 'docs'))
  return {
    pages: paths.map((path) => `docs/${path}`),
    textOf: (page) => readFileSync(join(directory, page), 'utf8'),
  }
}

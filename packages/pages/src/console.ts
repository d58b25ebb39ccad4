/** The console's files, as the daemon serves them. */
import { filesOf, type PageFile } from './files.js'

export type { PageFile } from './files.js'

let files: Map<string, PageFile> | undefined

/** By its path under the console's own, blank for the page itself. Read when first asked for, and kept. */
export function consoleFile(path: string): PageFile | undefined {
  files ??= filesOf('console')
  return files.get(path === '' ? 'index.html' : path)
}

/** The files of the console, which the daemon serves. */
import * as BuiltFiles from '#built-files'
import type { PageFile } from './PageFile.js'

export { type ErrorCode, errors, PagesError } from './errors.js'
export type { EncodedBody, PageFile } from './PageFile.js'

let files: ReadonlyMap<string, PageFile> | undefined

/**
 * Returns a file of the console by its path below the console's root, or undefined if there is none. The empty path is
 * the page itself. Files are read once, on the first call.
 *
 * @throws PagesError with the code `pages_not_built`.
 *
 * @example
 * const file = consoleFile('')
 * if (file !== undefined) response.writeHead(200, { 'Content-Type': file.type }).end(file.body)
 */
export function consoleFile(path: string): PageFile | undefined {
  files ??= BuiltFiles.read('console')
  return files.get(path === '' ? 'index.html' : path)
}

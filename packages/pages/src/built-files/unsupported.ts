/** For runtimes without a file system, where the pages are unavailable as if they were not built. */
import { PagesError } from '../errors.js'
import type { BuiltFiles } from './BuiltFiles.js'

export const isBuilt: BuiltFiles['isBuilt'] = () => false

export const read: BuiltFiles['read'] = () => {
  throw new PagesError('pages_not_built')
}

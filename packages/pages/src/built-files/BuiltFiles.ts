import type { PageFile } from '../PageFile.js'

/** Access to the files that the build wrote next to the compiled modules. */
export type BuiltFiles = {
  /** Whether the build wrote this page. */
  isBuilt: (page: string) => boolean
  /**
   * All files of a page by their path within it. Looking up a request's path here cannot reach another path on disk.
   *
   * @throws PagesError with the code `pages_not_built`.
   */
  read: (page: string) => ReadonlyMap<string, PageFile>
}

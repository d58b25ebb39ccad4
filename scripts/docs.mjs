// `npm run docs`: builds the reference pages into docs/. They are built from the code and not committed; `npm run pack`
// puts them into the packed documentation.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { apiPages } from './api-docs/pages.mjs'
import { cliPage } from './docs-cli.mjs'
import { errorsPage, paymentErrorsPage } from './docs-errors.mjs'
import { httpPage } from './docs-http.mjs'
import { root } from './packages.mjs'

/** @returns {Promise<Map<string, string>>} the text of each reference page, by its path below docs/ */
export async function referencePages() {
  const pages = new Map([
    ['http.md', httpPage()],
    ['cli.md', await cliPage()],
    ['errors.md', await errorsPage()],
    ['payment-errors.md', await paymentErrorsPage()],
  ])
  for (const [name, text] of apiPages()) pages.set(`api/${name}`, text)
  return pages
}

/**
 * Writes the reference pages below a folder, in place of older ones.
 * @returns the path of each page below the folder
 */
export async function writeReference(folder) {
  const pages = await referencePages()
  rmSync(join(folder, 'api'), { recursive: true, force: true })
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return [...pages.keys()]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const paths = await writeReference(join(root, 'docs'))
  console.log(
    `Built ${paths.length} pages: ${paths.filter((path) => !path.includes('/')).join(', ')} and api/ in docs/.`,
  )
}

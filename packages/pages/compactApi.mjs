// Reduces the description of the daemon's API to the parts that a page uses: routes, and the texts of errors. The
// documentation of every member would otherwise be in each bundle.
import { apiErrors, descriptions } from '@latchkey/kmd-api'

const routes = mapValues(descriptions, ({ method, path, once }) => ({ method, path, once }))
const errors = mapValues(apiErrors, ({ message, hint }) => ({ message, hint }))

const replacements = {
  // No page lists the operations or serves documents.
  'operations.js': `export const descriptions = ${JSON.stringify(routes)}, operations = [], documentAccess = {}`,
  'apiErrors.js': `export const apiErrors = ${JSON.stringify(errors)}`,
}

export const compactApi = {
  name: 'compact-api',
  enforce: 'pre',
  load(id) {
    const [, file] = /kmd-api\/dist\/([^/]+)$/.exec(id) ?? []
    return file === undefined ? undefined : replacements[file]
  },
}

function mapValues(entries, map) {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value)]))
}

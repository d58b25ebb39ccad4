// Reduces the description of the daemon's API, and the lists of errors, to the parts that a page uses. The documentation
// of every member and error would otherwise be in each bundle.
import { errors as algorandErrors } from '@latchkey/algorand'
import { apiErrors, descriptions, readingOf } from '@latchkey/kmd-api'
import * as groups from '@latchkey/kmd-api/operations'

// The Go daemon's errors are recognized by their message. No page shows a hint of the daemon's errors.
const texts = mapValues(apiErrors, ({ message }) => ({ message }))
// Each function of the package has its own message.
const hints = mapValues(algorandErrors, ({ hint }) => ({ hint }))

const replacements = {
  'algorand/dist/errors.js': `export const errors = ${JSON.stringify(hints)}`,
  // No page lists the operations or serves documents.
  'kmd-api/dist/operations.js': writeOperations(
    descriptions,
    (operations) => `export const descriptions = { ${operations.map(([id, text]) => `${id}: ${text}`).join(', ')} }
export const operations = [], documentAccess = {}`,
  ),
  'kmd-api/dist/apiErrors.js': `export const apiErrors = ${JSON.stringify(texts)}`,
  // The operations have readings in place of schemas.
  'kmd-api/dist/Reading.js': 'export const readingOf = (reading) => reading',
  // Namespaces, not objects: the bundler leaves out each operation that a page does not call.
  'kmd-api/dist/operations/index.js': Object.keys(groups)
    .map((name) => `export * as ${name} from './${name}.js'`)
    .join('\n'),
  ...Object.fromEntries(
    Object.entries(groups).map(([name, group]) => [
      `kmd-api/dist/operations/${name}.js`,
      writeOperations(group, (operations) => operations.map(([id, text]) => `export const ${id} = ${text}`).join('\n')),
    ]),
  ),
}

export const compactApi = {
  name: 'compact-api',
  enforce: 'pre',
  resolveId: (id, importer) =>
    importer?.endsWith('kmd-api/dist/operations/index.js') ? importer.replace('index.js', id.slice(2)) : undefined,
  load: (id) => replacements[/[^/]+\/dist\/.+$/.exec(id)?.[0]],
}

/** A module with operations. Objects that several operations return are constants. */
function writeOperations(group, writeExports) {
  const constants = new Map()
  const functions = new Set()
  const write = (reading) => {
    if (typeof reading === 'string') return `'${reading}'`
    if (Array.isArray(reading)) return `[${reading.map(write)}]`
    if (typeof reading === 'function') {
      functions.add(reading.name)
      return reading.name
    }
    const members = Object.entries(reading).map(([name, member]) => `${name}: ${write(member)}`)
    if (!constants.has(reading)) constants.set(reading, [`reading${constants.size}`, members])
    return constants.get(reading)[0]
  }
  const operations = Object.entries(group).map(([id, { method, path, once, response }]) => {
    const isOnce = once === true ? ', once: true' : ''
    return [id, `{ method: '${method}', path: '${path}'${isOnce}, response: ${write(readingOf(response))} }`]
  })
  return [
    ...[...functions].map((name) => `import { ${name} } from '@latchkey/kmd-api/rules'`),
    ...[...constants.values()].map(([name, members]) => `const ${name} = { ${members.join(', ')} }`),
    writeExports(operations),
  ].join('\n')
}

function mapValues(entries, map) {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value)]))
}

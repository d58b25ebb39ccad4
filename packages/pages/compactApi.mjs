// Reduces the description of the daemon's API to the parts that a page uses: routes, how to read responses, and the
// texts of errors. The documentation of every member would otherwise be in each bundle.
import { apiErrors, descriptions, readingOf } from '@latchkey/kmd-api'
import * as groups from '@latchkey/kmd-api/operations'

const routes = mapValues(descriptions, ({ method, path, once }) => ({ method, path, once }))
const errors = mapValues(apiErrors, ({ message, hint }) => ({ message, hint }))

const replacements = {
  // No page lists the operations or serves documents.
  'operations.js': `export const descriptions = ${JSON.stringify(routes)}, operations = [], documentAccess = {}`,
  'apiErrors.js': `export const apiErrors = ${JSON.stringify(errors)}`,
  // The operations below have readings instead of schemas.
  'Reading.js': 'export const readingOf = (reading) => reading',
}

export const compactApi = {
  name: 'compact-api',
  enforce: 'pre',
  async load(id) {
    const [, folder, file] = /kmd-api\/dist\/(operations\/)?([^/]+\.js)$/.exec(id) ?? []
    if (folder === undefined) return replacements[file]
    const [name, group] = Object.entries(await import(id)).find(([exported]) => exported in groups) ?? []
    return name === undefined || file === 'index.js' ? undefined : writeGroup(name, group)
  },
}

/** A module with one group of operations, without those that the daemon refuses to the console. */
function writeGroup(name, group) {
  const module = { constants: [], names: new Map(), functions: new Set() }
  const operations = Object.entries(group)
    .filter(([, { access }]) => access.console === 'allowed')
    .map(([id, { method, path, response }]) => {
      const reading = write(readingOf(response), module)
      return `${id}: { method: '${method}', path: '${path}', response: ${reading} }`
    })
  const imports = [...module.functions].map((one) => `import { ${one} } from '@latchkey/kmd-api/rules'`)
  return [...imports, ...module.constants, `export const ${name} = { ${operations.join(', ')} }`].join('\n')
}

/** Writes a reading. An object that several operations return is a constant. */
function write(reading, module) {
  if (typeof reading === 'string') return JSON.stringify(reading)
  if (typeof reading === 'function') {
    module.functions.add(reading.name)
    return reading.name
  }
  if (Array.isArray(reading)) return `[${reading.map((one) => write(one, module))}]`
  const members = Object.entries(reading).map(([member, one]) => `${member}: ${write(one, module)}`)
  if (!module.names.has(reading)) {
    module.names.set(reading, `reading${module.constants.length}`)
    module.constants.push(`const ${module.names.get(reading)} = { ${members.join(', ')} }`)
  }
  return module.names.get(reading)
}

function mapValues(entries, map) {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value)]))
}

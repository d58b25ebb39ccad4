// `npm run generate`: writes the tables of @latchkey/kmd-client from the daemon's list of operations and its error
// registry. A test fails if they are stale.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { apiErrors, descriptionPath, operations } from '../packages/kmd-api/dist/index.js'

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages', 'kmd-client', 'src')

const head = '// Written by scripts/generate-client.mjs from the daemon. Do not edit it; run `npm run generate`.\n'

/** Returns the generated files by name, with their content. */
export function clientTables() {
  return { 'operations.generated.ts': operationTable(), 'daemonErrors.generated.ts': errorTable() }
}

/** Leaves out `/swagger.json`, because its response is the document itself. */
function operationTable() {
  const all = [...operations, { id: 'SwaggerHandler', method: 'GET', path: descriptionPath }]
  const rows = all.map(({ id, method, path, once }) => {
    return `  ${id}: { method: ${text(method)}, path: ${text(path)}${once ? ', once: true' : ''} },\n`
  })
  return `${head}\n/** Method and path of every operation of the daemon. */\nexport const routes = {\n${rows.join('')}} as const\n`
}

function errorTable() {
  const rows = Object.entries(apiErrors).map(([code, { message, hint }]) => {
    return `  ${code}: {\n    message: ${text(message)},\n    hint: ${text(hint)},\n  },\n`
  })
  return `${head}
/** Every error code of the daemon. The messages are the texts that it sends, unless a text has details of its own. */
export const daemonErrors = {\n${rows.join('')}} as const

/** A code that the daemon's error responses have. */
export type DaemonErrorCode = keyof typeof daemonErrors
`
}

function text(value) {
  if (!value.includes("'")) return `'${value.replaceAll('\\', '\\\\')}'`
  return JSON.stringify(value)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, content] of Object.entries(clientTables())) writeFileSync(join(source, name), content)
}

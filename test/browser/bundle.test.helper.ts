/** Bundles our packages for a browser or an edge runtime, and calls the bundled code in a page. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import type { Page } from './chromium.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

export type BundleOptions = {
  /** The source text of the entry. The source imports packages by name and exports the functions that a test calls. */
  source: string
  /**
   * Export conditions besides `import` and `default`.
   *
   * @default ['browser', 'module', 'production'], as Vite builds for browsers
   */
  conditions?: readonly string[]
  /**
   * How imports of Node's built-in modules are treated: recorded and kept, or replaced by empty modules, as Vite does
   * for dApps.
   *
   * @default 'record'
   */
  nodeImports?: 'record' | 'empty'
}

export type Bundle = {
  /** The bundled file: one ES module, which is removed at the end of the test. */
  path: string
  code: string
  /** The remaining imports of Node's built-in modules, each with its file: `node:fs in packages/x/dist/y.js`. */
  nodeImports: readonly string[]
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** The file does not exist; packages are resolved relative to its path. */
const entry = join(root, 'test', 'bundle-entry.js')
const builtIns: ReadonlySet<string> = new Set(builtinModules)

/** Bundles the entry into one file. An import that cannot be resolved fails the build. */
export async function bundle(t: Scope, { source, conditions, nodeImports: policy }: BundleOptions): Promise<Bundle> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-bundle-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const nodeImports = new Set<string>()
  await build({
    configFile: false,
    logLevel: 'error',
    root: join(root, 'test'),
    resolve: { conditions: [...(conditions ?? ['browser', 'module', 'production'])] },
    plugins: [provideEntry(source), ...(policy === 'empty' ? [] : [recordNodeImports(nodeImports)])],
    build: {
      outDir: directory,
      minify: false,
      target: 'es2022',
      lib: { entry, formats: ['es'], fileName: () => 'bundle.js' },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })
  const path = join(directory, 'bundle.js')
  return { path, code: await readFile(path, 'utf8'), nodeImports: [...nodeImports].sort() }
}

/** Calls an exported function of the bundle in a page. Arguments and result are passed as JSON. */
export async function call(page: Page, { code }: Bundle, name: string, ...args: unknown[]): Promise<unknown> {
  const run = async ([text, exportName, values]: readonly [string, string, readonly unknown[]]): Promise<unknown> => {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
    try {
      const module = (await import(url)) as { [name: string]: (...values: readonly unknown[]) => unknown }
      return await module[exportName]!(...values)
    } finally {
      URL.revokeObjectURL(url)
    }
  }
  return page.evaluate(run, [code, name, args] as const)
}

function provideEntry(source: string): Plugin {
  return {
    name: 'latchkey:entry',
    enforce: 'pre',
    resolveId: (id) => (id === entry ? id : undefined),
    load: (id) => (id === entry ? source : undefined),
  }
}

/** Records the imports, because Vite would replace them by empty modules with only a warning. */
function recordNodeImports(found: Set<string>): Plugin {
  return {
    name: 'latchkey:node-imports',
    enforce: 'pre',
    resolveId: (id, importer) => {
      if (!id.startsWith('node:') && !builtIns.has(id)) return undefined
      found.add(`${id} in ${(importer ?? entry).replace(root, '')}`)
      return { id, external: true }
    },
  }
}

/** Blocks of TypeScript and JavaScript: each becomes a function of what it may use, is compiled, and run. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'
import type { Block } from './Blocks.test.helper.js'
import { type Provided, providedNames } from './Provided.test.helper.js'
import { codeRewrites } from './rules.test.helper.js'

/** What a block declares at its outermost level, by name. */
export type Declared = { readonly [name: string]: unknown }

type Run = (provided: Partial<Provided>) => Promise<Declared>

export type Compiled = {
  /** What the compiler has against it. */
  readonly faults: readonly string[]
  readonly needs: readonly (keyof Provided)[]
  readonly load: () => Promise<Run>
}

/** Below the compiled tests, so that packages and the types of what is provided are found. */
const directory = fileURLToPath(new URL(`./blocks-${process.pid}/`, import.meta.url))

/** All at once: starting the compiler is what takes time. */
export function compile(blocks: readonly Block[]): Map<Block, Compiled> {
  mkdirSync(directory, { recursive: true })
  const settings = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      composite: false,
      incremental: false,
      declaration: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      // Pages are to be read; a program would look first.
      noUncheckedIndexedAccess: false,
      outDir: 'js',
      rootDir: '.',
    },
    include: ['*.ts'],
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(settings))
  const modules = blocks.map((block, index) => ({ block, name: `block${index}`, ...moduleOf(block) }))
  for (const { name, source } of modules) writeFileSync(join(directory, `${name}.ts`), source)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', directory, '--pretty', 'false'], { encoding: 'utf8' })
  // A fault may go on in lines that are set in.
  const faults = stdout.split(/\n(?! )/).filter((line) => line !== '')
  return new Map(
    modules.map(({ block, name, needs }) => [
      block,
      {
        needs,
        faults: faults.filter((line) => line.includes(`${name}.ts`) || !/block[0-9]+\.ts/.test(line)),
        load: async () => ((await import(pathToFileURL(join(directory, 'js', `${name}.js`)).href)) as { run: Run }).run,
      },
    ]),
  )
}

export function removeCompiled(): void {
  rmSync(directory, { recursive: true, force: true })
}

const importStatement = /^import\s[^;]*?from '[^']+'$|^import '[^']+'$/gm

/** The code of a page as it is run, with what the test provides in the place of examples. */
export function rewrite(text: string): string {
  return codeRewrites.reduce((code, [from, to]) => code.replaceAll(from, to), text)
}

/** Imports stay outside; the rest stands in braces of its own, so that it may declare what it would be given. */
function moduleOf({ language, text }: Block): { source: string; needs: readonly (keyof Provided)[] } {
  const rewritten = rewrite(text)
  const imports = rewritten.match(importStatement) ?? []
  const body = rewritten.replaceAll(importStatement, '')
  const imported = imports.join('\n')
  const mentions = (code: string, name: string): boolean =>
    new RegExp(`(?<!(?:^|[^.])\\.|[\\w'])${name}(?![\\w'])`).test(code)
  const needs = providedNames.filter((name) => mentions(body, name) && !mentions(imported, name))
  const source = `${language === 'js' ? '// @ts-nocheck\n' : ''}${imported}
import type { Provided } from '../Provided.test.helper.js'
export async function run(provided: Provided) {
  const { ${needs.join(', ')} } = provided
  {
${body}
return { ${declaredIn(body).join(', ')} }
  }
}
`
  return { source, needs }
}

/** By the habit of putting nothing before a declaration but blanks of a block inside. */
function declaredIn(body: string): string[] {
  const declaration = /^(?:const|let|class|function|async function) +(?:([\w$]+)|[{[]([^}\]]*)[}\]])/gm
  return [...body.matchAll(declaration)].flatMap(([, one, several]) =>
    one === undefined ? several!.split(',').map((part) => part.replace(/.*:/, '').trim()) : [one],
  )
}

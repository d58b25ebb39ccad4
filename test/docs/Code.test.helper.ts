/** Turns blocks of TypeScript and JavaScript into functions of the values they use, and compiles and runs them. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'
import type { Block } from './Blocks.test.helper.js'
import { type Provided, providedNames } from './Provided.test.helper.js'
import { codeRewrites } from './rules.test.helper.js'

/** The top-level declarations of a block, by name. */
export type Declared = { readonly [name: string]: unknown }

type Run = (provided: Partial<Provided>) => Promise<Declared>

export type Compiled = {
  /** The compiler errors. */
  readonly faults: readonly string[]
  readonly needs: readonly (keyof Provided)[]
  readonly load: () => Promise<Run>
}

/** Below the compiled tests, so packages and the types of provided values resolve. */
const directory = fileURLToPath(new URL(`./blocks-${process.pid}/`, import.meta.url))

/** Compiles all blocks at once, because starting the compiler is slow. */
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
      // Pages favour readability; a program would check first.
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
  // An error may continue on indented lines.
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

/** Returns the runnable code of a page, with provided values in place of examples. */
export function rewrite(text: string): string {
  return codeRewrites.reduce((code, [from, to]) => code.replaceAll(from, to), text)
}

/** Imports stay outside; the rest is wrapped in braces, so it may redeclare provided names. */
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

/** Relies on formatting: only top-level declarations are not indented. */
function declaredIn(body: string): string[] {
  const declaration = /^(?:const|let|class|function|async function) +(?:([\w$]+)|[{[]([^}\]]*)[}\]])/gm
  return [...body.matchAll(declaration)].flatMap(([, one, several]) =>
    one === undefined ? several!.split(',').map((part) => part.replace(/.*:/, '').trim()) : [one],
  )
}

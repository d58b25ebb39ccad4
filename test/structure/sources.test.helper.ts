/** Lists the TypeScript sources of the repository and their imports. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Returns every source below a directory, as paths from the root. */
export function sources(directory: string): string[] {
  return readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => /\.tsx?$/.test(name) && !name.split('/').some((part) => part === 'dist' || part === 'node_modules'),
    )
    .map((name) => join(directory, name))
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** Returns the import and export specifiers of a file, as written. */
export function importsOf(file: string): string[] {
  const text = read(file)
  const from = /^\s*(?:import|export)\b[^'"]*?\bfrom\s+'([^']+)'/gm
  const bare = /^\s*import\s+'([^']+)'/gm
  const lazy = /\bimport\('([^']+)'\)/g
  return [from, bare, lazy].flatMap((pattern) => [...text.matchAll(pattern)]).map(([, path]) => path!)
}

/** Tests, and files that only tests use. */
export const isTest = (file: string): boolean => /\.test\./.test(file)

/** Returns only the code, without comments, strings and patterns. */
export function codeOf(file: string): string {
  return read(file)
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replaceAll(/`(?:[^`\\]|\\.)*`/gs, '``')
}

/** Returns only the comments. */
export function commentsOf(file: string): string {
  return [...read(file).matchAll(/\/\*.*?\*\/|(?<=^|\s)\/\/.*$/gms)].map(([comment]) => comment).join('\n')
}

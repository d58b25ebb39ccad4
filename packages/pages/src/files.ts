/** Files that the build wrote, found by name: a request can ask for one of these and steer no path on the disk. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

export type PageFile = {
  type: string
  body: Buffer
  /** Its name changes with its content, so that it may be kept for ever. */
  isImmutable: boolean
}

const types: { [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** `folder` is beside the compiled modules, and its files are called by their paths in it. */
export function filesOf(folder: string): Map<string, PageFile> {
  const directory = fileURLToPath(new URL(`./${folder}/`, import.meta.url))
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(directory.length).replace(/^\//, ''))
  return new Map(
    names.map((name) => {
      const type = types[extname(name)] ?? 'application/octet-stream'
      const body = readFileSync(`${directory}/${name}`)
      return [name, { type, body, isImmutable: name.startsWith('assets/') }]
    }),
  )
}

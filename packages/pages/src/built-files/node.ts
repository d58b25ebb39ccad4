import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PagesError } from '../errors.js'
import { type PageFile, pageFile } from '../PageFile.js'
import type { BuiltFiles } from './BuiltFiles.js'

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

export const isBuilt: BuiltFiles['isBuilt'] = (page) => existsSync(directoryOf(page))

export const read: BuiltFiles['read'] = (page) => {
  if (!isBuilt(page)) throw new PagesError('pages_not_built')
  const directory = directoryOf(page)
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(directory.length).replace(/^\//, ''))
  return new Map(names.map((name): [string, PageFile] => [name, readPageFile(directory, name)]))
}

function readPageFile(directory: string, name: string): PageFile {
  const type = types[extname(name)] ?? 'application/octet-stream'
  const file = { type, body: readFileSync(`${directory}/${name}`), isImmutable: name.startsWith('assets/') }
  return pageFile(file, (bytes) => gzipSync(bytes, { level: 9 }))
}

function directoryOf(page: string): string {
  return fileURLToPath(new URL(`../${page}/`, import.meta.url))
}

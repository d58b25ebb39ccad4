// `npm run docs`: writes the pages that are made from the program itself.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliPage } from './docs-cli.mjs'
import { httpPage } from './docs-http.mjs'

const docs = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs')
writeFileSync(join(docs, 'http.md'), httpPage())
writeFileSync(join(docs, 'cli.md'), await cliPage())

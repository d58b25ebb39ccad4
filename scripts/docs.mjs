// `npm run docs`: writes the documentation pages that are generated from the code.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiPages } from './api-docs/pages.mjs'
import { cliPage } from './docs-cli.mjs'
import { errorsPage, paymentErrorsPage } from './docs-errors.mjs'
import { httpPage } from './docs-http.mjs'
import { root } from './packages.mjs'

const docs = join(root, 'docs')
const api = join(docs, 'api')
writeFileSync(join(docs, 'http.md'), httpPage())
writeFileSync(join(docs, 'cli.md'), await cliPage())
writeFileSync(join(docs, 'errors.md'), await errorsPage())
writeFileSync(join(docs, 'payment-errors.md'), await paymentErrorsPage())
mkdirSync(api, { recursive: true })
const pages = apiPages()
for (const name of readdirSync(api)) if (!pages.has(name)) rmSync(join(api, name))
for (const [name, text] of pages) writeFileSync(join(api, name), text)

// `npm start`: all of it, with one paid request to begin with. Arguments after `--` go to `latchkey dev`.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, setUp } from './setup.mjs'

setUp()
process.argv.splice(2, 0, 'dev')
await import(pathToFileURL(join(root, 'packages', 'cli', 'bin', 'latchkey.js')).href)

// `npm start`: the daemon on its default directory. Arguments after `--` go to `latchkey kmd`.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, setUp } from './setup.mjs'

setUp()
process.argv.splice(2, 0, 'kmd')
await import(pathToFileURL(join(root, 'packages', 'cli', 'bin', 'latchkey.js')).href)

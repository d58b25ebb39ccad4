// `npm start`: `latchkey dev`, after installing and building what is missing. Arguments after `--` are passed on.
import { checkNode } from '../packages/cli/bin/checkNode.js'

if (checkNode(process.versions.node)) {
  import('./setup.mjs').then(({ setUp }) => {
    setUp()
    process.argv.splice(2, 0, 'dev')
    return import('../packages/cli/bin/latchkey.js')
  })
}

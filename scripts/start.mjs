// `npm start`: runs `latchkey dev` after installing and building whatever is missing. Passes on arguments after `--`.
import { checkNode } from '../packages/cli/bin/checkNode.js'

if (checkNode(process.versions.node)) {
  import('./setup.mjs').then(({ setUp }) => {
    setUp()
    process.argv.splice(2, 0, 'dev')
    return import('../packages/cli/bin/latchkey.js')
  })
}

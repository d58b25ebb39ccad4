// Installs Next.js for its test into the cache, with our packages.
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../packages.mjs'
import { installFor } from './npm.mjs'

/** @returns `{ directory }`, which has Next.js and our packages in node_modules, or `{ problem }` */
export function installNext() {
  return installFor('next', {
    name: 'Next.js',
    after: (directory) => {
      const link = join(directory, 'node_modules', '@latchkey')
      if (!existsSync(link)) symlinkSync(join(root, 'node_modules', '@latchkey'), link)
    },
  })
}

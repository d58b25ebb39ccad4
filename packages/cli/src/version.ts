import { createRequire } from 'node:module'

/** Of the package, as in package.json. */
export const version: string = (createRequire(import.meta.url)('../package.json') as { version: string }).version

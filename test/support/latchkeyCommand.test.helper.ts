/** A module of its own, because processes that run commands load nothing else. */
import { fileURLToPath } from 'node:url'

export const latchkeyCommand = fileURLToPath(new URL('../../../packages/cli/bin/latchkey.js', import.meta.url))

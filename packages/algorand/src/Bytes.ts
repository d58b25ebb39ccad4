/** What is done with byte strings everywhere. Not for secrets: comparing takes longer the more bytes are the same. */
export { concat, equal, isZero } from './internal/Bytes.js'

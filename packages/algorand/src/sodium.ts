/** The entry `@latchkey/algorand/sodium`, for Node only: libsodium as the daemon uses it. */
import { require, type Sodium } from './crypto/sodium.js'

export type { Sodium } from './crypto/sodium.js'

/** libsodium through sodium-native, an optional peer dependency. Without it, importing this entry fails. */
export const sodium: Sodium = require()

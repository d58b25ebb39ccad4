import * as Varint from '../encoding/Varint.js'

/** The version of a program. 0 if it has none. */
export function versionOf(program: Uint8Array): bigint {
  return Varint.decode(program, 0)?.value ?? 0n
}

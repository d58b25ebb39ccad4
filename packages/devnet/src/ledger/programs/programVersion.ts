/** Returns the version of a program, which is a varuint at its start, or why it has none. */
export function versionOf(program: Uint8Array | undefined): bigint | string {
  if (program === undefined || program.length === 0) return 'invalid program (empty)'
  let version = 0n
  for (let index = 0; index < Math.min(program.length, 10); index++) {
    version |= BigInt(program[index]! & 0x7f) << BigInt(7 * index)
    if (program[index]! < 0x80) return version < 2n ** 64n ? version : 'invalid version'
  }
  return 'invalid version'
}

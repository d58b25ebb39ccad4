/**
 * Lets listed users connect to a Unix socket, and no one else, with a POSIX access control list on Linux. The kernel
 * then refuses other users when they connect, so they cannot take connections or time from the listed ones. Node cannot
 * set such a list, so perl or python3 does.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'

const attribute = 'system.posix_acl_access'
const programMs = 10_000

/** The number of the system call `setxattr` in perl's process, which has the architecture of Node. */
const setxattrNumbers: Partial<Record<NodeJS.Architecture, number>> = {
  ...{ x64: 188, ia32: 226, arm: 226, arm64: 5, riscv64: 5, loong64: 5, ppc64: 209, s390x: 224 },
}

const perlScript =
  'exit(syscall($ARGV[0] + 0, $ARGV[1], $ARGV[2], pack("H*", $ARGV[3]), length($ARGV[3]) / 2, 0) == 0 ? 0 : 1)'
const pythonScript = 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]))'

/**
 * Restricts a socket to its owner and the users.
 *
 * @returns false if the file system or the system has no such lists; the socket is then as it was
 */
export async function restrict(path: string, users: readonly number[]): Promise<boolean> {
  if (process.platform !== 'linux' || users.length > mostUsers) return false
  const list = encode(users).toString('hex')
  const number = setxattrNumbers[process.arch]
  if (number !== undefined && (await run('/usr/bin/perl', ['-e', perlScript, String(number), path, attribute, list]))) {
    return true
  }
  return run('/usr/bin/python3', ['-I', '-S', '-c', pythonScript, path, attribute, list])
}

/** As many entries as fit in an argument and in the attributes of every common file system. */
const mostUsers = 256

const tags = { owner: 0x01, user: 0x02, group: 0x04, mask: 0x10, other: 0x20 } as const
const version = 2
const noId = 0xffff_ffff
const [mayConnect, mayNothing] = [6, 0]

/** The kernel's form: a version, then tag, permissions and id of each entry, sorted, in little-endian order. */
function encode(users: readonly number[]): Buffer {
  const sorted = [...new Set(users)].sort((a, b) => a - b)
  const entries: (readonly [tag: number, permissions: number, id: number])[] = [
    [tags.owner, mayConnect, noId],
    ...sorted.map((user) => [tags.user, mayConnect, user] as const),
    [tags.group, mayNothing, noId],
    [tags.mask, mayConnect, noId],
    [tags.other, mayNothing, noId],
  ]
  const bytes = Buffer.alloc(4 + 8 * entries.length)
  bytes.writeUInt32LE(version)
  for (const [at, [tag, permissions, id]] of entries.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * at)
    bytes.writeUInt16LE(permissions, 6 + 8 * at)
    bytes.writeUInt32LE(id, 8 + 8 * at)
  }
  return bytes
}

/** Whether the program succeeded. It gets no environment. */
function run(file: string, args: readonly string[]): Promise<boolean> {
  if (!existsSync(file)) return Promise.resolve(false)
  return new Promise((resolve) => {
    execFile(file, args, { env: {}, timeout: programMs }, (error) => resolve(error === null))
  })
}

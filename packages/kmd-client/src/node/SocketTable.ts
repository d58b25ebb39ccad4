/** Reads the kernel's table of TCP sockets on Linux to find the user at the other end of a local connection. */
import type { Ends } from '@latchkey/http-client'
import * as SocketTable from '@latchkey/system/socket-table'

type Row = { local: string; remote: string; isListening: boolean; uid: number; hasInode: boolean }

const listening = '0A'

/**
 * The users holding the peer's end of a connection; empty if there is no such table. The IPv6 table is read only if the
 * IPv4 table does not decide, because the kernel walks all of its sockets for each.
 */
export async function holdersOf(ends: Ends): Promise<number[]> {
  let table = ''
  for (const file of SocketTable.files) {
    table += `${await SocketTable.read(file)}\n`
    const accepted = acceptedBy(table, ends)
    if (accepted !== undefined) return [accepted]
  }
  return holders(table, ends)
}

/**
 * The users holding the peer's end of a connection: the user of its socket once the peer has accepted it, and before
 * that the users of every socket listening there. Empty if the peer is not in the table, as with a container's port.
 */
export function holders(table: string, ends: Ends): number[] {
  const accepted = acceptedBy(table, ends)
  if (accepted !== undefined) return [accepted]
  const { remote } = ends
  const places = [
    ...SocketTable.spellings(remote),
    ...wildcards.map((address) => `${address}:${SocketTable.hexPort(remote.port)}`),
  ]
  return rowsAt(table, remote.port)
    .filter((row) => row.isListening && places.includes(row.local))
    .map(({ uid }) => uid)
}

/** The user of the socket that the peer accepted. */
function acceptedBy(table: string, { local, remote }: Ends): number | undefined {
  const here = SocketTable.spellings(local)
  const there = SocketTable.spellings(remote)
  const row = rowsAt(table, remote.port).find((each) => there.includes(each.local) && here.includes(each.remote))
  // A socket that waits to be accepted has no inode, and older kernels show root as its user.
  return row?.hasInode === true ? row.uid : undefined
}

/** The rows of sockets with this local port. A busy machine has thousands of rows, so only these are split. */
function rowsAt(table: string, port: number): Row[] {
  const rows: Row[] = []
  const localPort = new RegExp(`^ *[0-9]+: [0-9A-F]+:${SocketTable.hexPort(port)} .*$`, 'gm')
  for (const [line] of table.matchAll(localPort)) {
    const [, local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/)
    if (local === undefined || remote === undefined || !/^[0-9]+$/.test(uid ?? '')) continue
    rows.push({ local, remote, isListening: state === listening, uid: Number(uid), hasInode: inode !== '0' })
  }
  return rows
}

const wildcards = ['0'.repeat(8), '0'.repeat(32)]

/** A process and all its descendants, because npm and shells start the actual program as a child. */
import { readdirSync, readFileSync } from 'node:fs'

/** A process identified by its id and start time, because ids are reused. */
export type Member = { pid: number; startTime: string }

/** Returns the process and its descendants, or an empty list without /proc. */
export function members(pid: number): Member[] {
  const root = readStat(pid)
  if (root === undefined) return []
  const all = readAll()
  const found: Member[] = [{ pid, startTime: root.startTime }]
  for (const { pid: parent } of found) {
    for (const one of all) if (one.parent === parent) found.push({ pid: one.pid, startTime: one.startTime })
  }
  return found
}

/** Returns the process itself with its start time, or undefined without /proc. */
export function memberOf(pid: number): Member | undefined {
  const stat = readStat(pid)
  return stat === undefined ? undefined : { pid, startTime: stat.startTime }
}

export function isAlive({ pid, startTime }: Member): boolean {
  const stat = readStat(pid)
  return stat !== undefined && stat.startTime === startTime && stat.state !== 'Z'
}

type Stat = { state: string; parent: number; startTime: string }

function readAll(): (Stat & { pid: number })[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((name) => {
      const stat = readStat(Number(name))
      return stat === undefined ? [] : [{ pid: Number(name), ...stat }]
    })
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // proc(5): the name is in parentheses and may contain any character; the fields follow the last parenthesis.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0]!, parent: Number(fields[1]), startTime: fields[19]! }
  } catch {
    return undefined
  }
}

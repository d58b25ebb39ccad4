/** A process and all that it has started, as npm and shells do. */
import { readdirSync, readFileSync } from 'node:fs'

/** A process by its number and the moment it began: numbers come again. */
export type Member = { pid: number; beganAt: string }

/** Where there is no /proc to look into, nobody is found. */
export function of(pid: number): Member[] {
  const root = look(pid)
  if (root === undefined) return []
  const all = everybody()
  const family: Member[] = [{ pid, beganAt: root.beganAt }]
  for (const { pid: parent } of family) {
    for (const one of all) if (one.parent === parent) family.push({ pid: one.pid, beganAt: one.beganAt })
  }
  return family
}

export function isAlive({ pid, beganAt }: Member): boolean {
  const found = look(pid)
  return found !== undefined && found.beganAt === beganAt && found.state !== 'Z'
}

type Seen = { state: string; parent: number; beganAt: string }

function everybody(): (Seen & { pid: number })[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((name) => {
      const seen = look(Number(name))
      return seen === undefined ? [] : [{ pid: Number(name), ...seen }]
    })
}

function look(pid: number): Seen | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in brackets may hold anything; what follows the last bracket is in columns.
    const columns = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: columns[0]!, parent: Number(columns[1]), beganAt: columns[19]! }
  } catch {
    return undefined
  }
}

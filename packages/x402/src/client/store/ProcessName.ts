/** Names of processes on this machine, which distinguish a process from a later one with the same number. */
import { readFileSync } from 'node:fs'

let name: string | undefined

/** The name of this process. */
export function own(): string {
  name ??= `${process.pid} ${startOf(process.pid) ?? ''}`.trim()
  return name
}

/** Whether the process with this name is still running. */
export function isRunning(name: string): boolean {
  const [pid, start] = name.split(' ')
  if (start !== undefined) return startOf(Number(pid)) === start
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * When a running process was started, in ticks since boot; undefined if the system does not report it. A process that
 * has ended stays in the table until its parent collects it, which in a container without an init may be never.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // proc(5): fields 3 and 22. The second field, the name of the program, is in parentheses and can have spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return /^[ZX]$/.test(fields[0] ?? '') ? undefined : fields[19]
  } catch {
    return undefined
  }
}

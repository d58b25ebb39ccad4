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

/** When a process was started, in ticks since boot; undefined if the system does not report it. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // proc(5): field 22. The second field, the name of the program, is in parentheses and can have spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

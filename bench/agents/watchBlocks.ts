/**
 * Loaded into the daemon with `--import`: measures the longest block of its event loop from the first SIGUSR2 to the second,
 * and writes it to the file that LATCHKEY_BENCH_BLOCKS names. Processor time is what the daemon itself used in one turn
 * of the loop; wall time also has what other processes took.
 */
import { writeFileSync } from 'node:fs'

const file = process.env['LATCHKEY_BENCH_BLOCKS']
let isArmed = false
let longestCpuMs = 0
let longestWallMs = 0
let cpu = process.cpuUsage()
let at = performance.now()

function turn(): void {
  const { user, system } = process.cpuUsage(cpu)
  longestCpuMs = Math.max(longestCpuMs, (user + system) / 1_000)
  longestWallMs = Math.max(longestWallMs, performance.now() - at)
  cpu = process.cpuUsage()
  at = performance.now()
  setTimeout(turn, 1).unref()
}

if (file !== undefined) {
  process.on('SIGUSR2', () => {
    if (isArmed) writeFileSync(file, JSON.stringify({ longestCpuMs, longestWallMs }))
    else turn()
    isArmed = true
    longestCpuMs = 0
    longestWallMs = 0
  })
}

/** Finds ports for servers that need a known one, or the same one after a restart. */
import { randomInt } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Below the ports that Linux gives to connections and to servers on port 0. */
const range = [20_000, 32_000] as const
const directory = join(tmpdir(), `latchkey-ports-${process.getuid?.() ?? 0}`)
const reserved: string[] = []
process.on('exit', () => {
  for (const path of reserved) rmSync(path, { force: true })
})

/**
 * Returns a loopback port without a listener. Until this process exits, no other test gets it, so it can be used
 * later, again after a restart, or as the address of a server that is down.
 */
export async function freePort(): Promise<number> {
  mkdirSync(directory, { recursive: true })
  for (;;) {
    const port = randomInt(...range)
    if (!reserve(port)) continue
    if (await isFree(port)) return port
  }
}

/** Creates a file that names this process as the owner of the port. */
function reserve(port: number): boolean {
  const path = join(directory, String(port))
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    reserved.push(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // The next search may find this port.
    if (isAbandoned(path)) rmSync(path, { force: true })
    return false
  }
}

/** Whether the process that reserved the port was killed. A file that is still empty is being written. */
function isAbandoned(path: string): boolean {
  try {
    const owner = readFileSync(path, 'utf8')
    if (owner !== '') process.kill(Number(owner), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

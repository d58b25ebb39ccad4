import { createServer } from 'node:net'

/** Returns the preferred port if it is free, and otherwise 0 for any free one. */
async function freePort(preferred: number): Promise<number> {
  return (await isFree(preferred)) ? preferred : 0
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

/** Returns the port to listen on, given the preferred one. */
export type PortFor = (preferred: number) => Promise<number>

/** After this many lost races any port is used. */
const maxAttempts = 3

/**
 * Calls `start` with a function that selects ports. If another program takes a port after it was found free, as when
 * two stacks start at once, `start` is called again.
 */
export async function onFreePorts<T>(anyPort: boolean, start: (portFor: PortFor) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const takesAny = anyPort || attempt === maxAttempts
    try {
      return await start(async (preferred) => (takesAny ? 0 : freePort(preferred)))
    } catch (error) {
      if (takesAny || !isPortInUse(error)) throw error
    }
  }
}

function isPortInUse(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' || isPortInUse(error.cause)
}

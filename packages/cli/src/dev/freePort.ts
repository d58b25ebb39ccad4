import { createServer } from 'node:net'

/** The preferred port if it is free; otherwise 0, for any free one. */
export async function freePort(preferred: number): Promise<number> {
  return (await isFree(preferred)) ? preferred : 0
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

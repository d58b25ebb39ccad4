import { connect } from 'node:net'

/** The TLS request of the PostgreSQL protocol: its length, and a number in place of the version. */
const request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Whether a server offers TLS; undefined if it does not answer. */
export function offersTls(host: string, port: number, timeoutMs: number): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (isOffered: boolean | undefined): void => {
      socket.destroy()
      resolve(isOffered)
    }
    socket.once('connect', () => socket.write(request))
    socket.once('data', (chunk: Buffer) => end(chunk[0] === 0x53))
    for (const event of ['error', 'timeout', 'close'] as const) socket.once(event, () => end(undefined))
  })
}

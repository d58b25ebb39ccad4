/** A proxy that loses the response to a command: the server receives the command, and the client gets no response. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

type Scope = { after: (work: () => unknown) => void }

export type CutProxy = {
  readonly port: number
  /** Loses the response to the next command that contains the text, after `isDone` reports that it was executed. */
  readonly loseResponse: (text: string, isDone: () => Promise<boolean>) => void
  /** How many responses were lost. */
  readonly lost: () => number
}

export async function cutProxy(t: Scope, target: { host: string; port: number }): Promise<CutProxy> {
  let next: { text: Buffer; isDone: () => Promise<boolean> } | undefined
  let lost = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host)
    let isMuted = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', end)
    }
    client.on('data', (data) => {
      upstream.write(data)
      if (next === undefined || isMuted || !data.includes(next.text)) return
      const { isDone } = next
      next = undefined
      isMuted = true
      const cut = async (): Promise<void> => {
        while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 5))
        lost++
        end()
      }
      void cut()
    })
    upstream.on('data', (data) => {
      if (!isMuted) client.write(data)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    loseResponse: (text, isDone) => {
      next = { text: Buffer.from(text), isDone }
    },
    lost: () => lost,
  }
}

/** A TCP proxy in front of a server that drops connections at a given moment. */
import { connect, createServer, type Socket } from 'node:net'

/** How a statement is lost whose bytes contain a text. */
export type Loss =
  /** The statement does not reach the server. */
  | 'before'
  /** The server has executed and committed the statement; the response and the connection are lost. */
  | 'after'
  /** The same, but the connection stays open, so the client is not notified. */
  | 'silent'

export class LossyProxy {
  readonly port: number
  /** Set by a test; used once. */
  #next: { text: string; loss: Loss } | undefined
  readonly #sockets = new Set<Socket>()
  /** How many connections were lost. */
  losses = 0

  private constructor(port: number) {
    this.port = port
  }

  static start(t: { after: (work: () => unknown) => void }, target: number): Promise<LossyProxy> {
    return new Promise((resolve) => {
      const server = createServer((client) => proxy.#serve(client, target))
      let proxy: LossyProxy
      server.listen(0, '127.0.0.1', () => {
        proxy = new LossyProxy((server.address() as { port: number }).port)
        t.after(() => {
          for (const socket of proxy.#sockets) socket.destroy()
          server.close()
        })
        resolve(proxy)
      })
    })
  }

  /** Loses the next statement that contains the text. */
  lose(text: string, loss: Loss): void {
    this.#next = { text, loss }
  }

  #serve(client: Socket, target: number): void {
    const server = connect(target, '127.0.0.1')
    let lost: Loss | undefined
    const end = (): void => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    client.on('data', (chunk) => {
      if (this.#next !== undefined && chunk.includes(this.#next.text)) {
        lost = this.#next.loss
        this.#next = undefined
        this.losses++
        if (lost === 'before') return end()
      }
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      // The server sends its response after the commit, with the state of the connection.
      if (lost === 'after') return end()
      if (lost === undefined) client.write(chunk)
    })
  }
}

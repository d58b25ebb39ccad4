/**
 * Implements a lightweight keep-alive connection with one request in progress at a time, so the measurement reflects
 * the server.
 */
import { connect, type Socket } from 'node:net'
import { ResponseReader } from './ResponseReader.js'

export type HttpResponse = { status: number; body: string }

type Waiting = { done: (status: number) => void; fail: (error: Error) => void }

const readBufferBytes = 64 * 1024
const responseTimeoutMs = 60_000

export class Connection {
  readonly #socket: Socket
  readonly #reader: ResponseReader
  #waiting: Waiting | undefined

  private constructor(port: number, keepBody: boolean) {
    this.#reader = new ResponseReader({ keepBody })
    // Reading into one buffer avoids an allocation per response.
    const buffer = Buffer.allocUnsafe(readBufferBytes)
    const callback = (length: number): boolean => {
      this.#received(buffer.subarray(0, length))
      return true
    }
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the daemon closed the connection')))
  }

  static open(port: number, options: { keepBody: boolean }): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port, options.keepBody)
      connection.#socket.once('error', reject)
      connection.#socket.once('connect', () => {
        connection.#socket.off('error', reject)
        resolve(connection)
      })
    })
  }

  /** Sends a request and calls back with the status of its response. Promises would add to the measured time. */
  send(request: Uint8Array, waiting: Waiting): void {
    this.#waiting = waiting
    this.#socket.write(request)
  }

  /** Sends a request and returns the full response. Needs `keepBody`. */
  async request(request: Uint8Array): Promise<HttpResponse> {
    let timer: NodeJS.Timeout | undefined
    try {
      const status = await new Promise<number>((done, fail) => {
        timer = setTimeout(() => fail(new Error(`no response within ${responseTimeoutMs} ms`)), responseTimeoutMs)
        this.send(request, { done, fail })
      })
      return { status, body: this.#reader.takeBody() }
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #received(bytes: Buffer): void {
    try {
      if (!this.#reader.push(bytes)) return
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.done(this.#reader.status)
  }

  #fail(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.fail(error)
  }
}

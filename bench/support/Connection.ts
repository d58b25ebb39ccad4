/** A keep-alive connection with one request under way at a time. Light, so that the server is what is measured. */
import { connect, type Socket } from 'node:net'
import { AnswerReader } from './AnswerReader.js'

export type Answer = { status: number; body: string }

type Waiting = { done: (status: number) => void; fail: (error: Error) => void }

const readBufferBytes = 64 * 1024
const answerMs = 60_000

export class Connection {
  readonly #socket: Socket
  readonly #reader: AnswerReader
  #waiting: Waiting | undefined

  private constructor(port: number, keepBody: boolean) {
    this.#reader = new AnswerReader({ keepBody })
    // Reading into one buffer of our own costs nothing per answer.
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

  /** Sends a request and calls back with the status of its answer. Callbacks, as promises would weigh something. */
  send(request: Uint8Array, waiting: Waiting): void {
    this.#waiting = waiting
    this.#socket.write(request)
  }

  /** The convenient form, for what is not measured by the thousand. Needs `keepBody`. */
  async request(request: Uint8Array): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined
    try {
      const status = await new Promise<number>((done, fail) => {
        timer = setTimeout(() => fail(new Error(`no answer within ${answerMs} ms`)), answerMs)
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

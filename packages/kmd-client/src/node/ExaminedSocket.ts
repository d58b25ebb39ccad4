/**
 * A connection that sends nothing before its peer has been examined. The result holds for as long as the connection is
 * open.
 */
import { Socket, type TcpNetConnectOpts } from 'node:net'
import { type Examine, UnprovenPeerError } from '../transport/Transport.js'

type Done = (error?: Error | null) => void

export class ExaminedSocket extends Socket {
  #isProven = false
  #held: (() => void) | undefined

  /** Like `net.connect`. */
  static open(options: TcpNetConnectOpts, examine: Examine): ExaminedSocket {
    const socket = new ExaminedSocket(options)
    if (options.timeout !== undefined) socket.setTimeout(options.timeout)
    // Runs before all other listeners, and before any pending data is written.
    socket.once('connect', () => socket.#examine(examine))
    return socket.connect(options)
  }

  /** Whether the peer has been examined. Nothing is sent before that. */
  get isProven(): boolean {
    return this.#isProven
  }

  // All writes pass through these two methods.
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    this.#hold(() => super._write(chunk, encoding, done))
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    this.#hold(() => super._writev?.(chunks, done))
  }

  #hold(write: () => void): void {
    if (this.#isProven) write()
    else this.#held = write
  }

  #examine(examine: Examine): void {
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = this
    const local = { address: localAddress, port: localPort }
    const remote = { address: remoteAddress, port: remotePort }
    examine.connection({ local, remote }).then(
      (doubt) => {
        if (doubt !== undefined) {
          this.destroy(new UnprovenPeerError(doubt))
          return
        }
        // The socket was closed in the meantime, so the held data is not sent.
        if (this.destroyed) return
        this.#isProven = true
        this.#held?.()
        this.#held = undefined
      },
      (error) => this.destroy(error),
    )
  }
}

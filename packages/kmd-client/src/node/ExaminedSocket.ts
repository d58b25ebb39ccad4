/** A connection that sends nothing before its peer was examined. It stays examined for as long as it is open. */
import { Socket, type TcpNetConnectOpts } from 'node:net'
import { type Examine, UnprovenPeerError } from '../transport/Transport.js'

type Done = (error?: Error | null) => void

export class ExaminedSocket extends Socket {
  #isProven = false
  #held: (() => void) | undefined

  /** As `net.connect`. */
  static open(options: TcpNetConnectOpts, examine: Examine): ExaminedSocket {
    const socket = new ExaminedSocket(options)
    if (options.timeout !== undefined) socket.setTimeout(options.timeout)
    // Before all other listeners, and before anything that waits for the connection is written.
    socket.once('connect', () => socket.#examine(examine))
    return socket.connect(options)
  }

  /** Whether its peer was examined: before that, nothing was sent. */
  get isProven(): boolean {
    return this.#isProven
  }

  // All that is written passes through these two.
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
        // Closed meanwhile: what was held back is not sent.
        if (this.destroyed) return
        this.#isProven = true
        this.#held?.()
        this.#held = undefined
      },
      (error) => this.destroy(error),
    )
  }
}

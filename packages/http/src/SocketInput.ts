/**
 * Reads sockets into one buffer that all connections share and that is wiped after each read. By default, Node reads
 * into a new buffer of 64 KiB, copies what arrived, and frees the buffer without clearing it. Passwords and keys of
 * requests then stay in free memory until something else is written there.
 *
 * `net.connect` has the option `onread` for such a buffer; a server has none. So this sets what the option sets on a
 * socket that was accepted. A runtime without these properties reads as usual, which leaves that copy in memory.
 */
import type { Socket } from 'node:net'

/** As much as Node reads at once. */
const readBytes = 64 * 1024

let shared: Buffer | undefined

type UserBufferHandle = { useUserBuffer?: (buffer: Buffer) => void }

/**
 * Calls `listener` with everything that arrives. The bytes are valid until the listener returns: copy those that are
 * needed longer. `pause`, `resume` and the other events of the socket stay the same.
 */
export function onInput(socket: Socket, listener: (input: Buffer) => void): void {
  const handle = (socket as { _handle?: UserBufferHandle | null })._handle
  const [buffer, callback] = [symbolOf(socket, 'kBuffer'), symbolOf(socket, 'kBufferCb')]
  // On Windows a read is in progress while other sockets are read, so they cannot share a buffer.
  const isShareable = process.platform !== 'win32'
  if (!isShareable || !handle?.useUserBuffer || buffer === undefined || callback === undefined) {
    socket.on('data', (input) => {
      listener(input)
      input.fill(0)
    })
    return
  }
  shared ??= Buffer.allocUnsafeSlow(readBytes)
  const input = shared
  Object.assign(socket, {
    [buffer]: input,
    [callback]: (length: number): boolean => {
      try {
        listener(input.subarray(0, length))
      } finally {
        input.fill(0, 0, length)
      }
      return true
    },
  })
  handle.useUserBuffer(input)
}

/** Node defines the properties of `onread` on every socket, without a value if the option is not used. */
function symbolOf(socket: Socket, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(socket).find(({ description }) => description === name)
}

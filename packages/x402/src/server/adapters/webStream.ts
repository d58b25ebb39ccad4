/**
 * Streams the body of a web response for a payment that was settled before. The counterpart of `StreamedResponse`,
 * which is for Node's responses.
 */
import { ClientWait } from './ClientWait.js'
import { StreamCopy } from './StreamCopy.js'

export type WebStreamOptions = {
  /**
   * Called once, when the source has ended, with a copy of the body, unless it is too long. `hasLeft` tells whether the
   * client has left before, and `wasUnread` whether it had not read for long.
   */
  readonly onEnd: (copy: Uint8Array<ArrayBuffer> | undefined, bytes: number, client: EndedClient) => void
  /**
   * Called once instead of `onEnd`: there will be no complete body, or none that can be held. `isUnread` tells whether
   * that is the client's doing: it has left, did not read when the source failed, or had not read for long.
   */
  readonly onFailure: (isUnread: boolean) => void
  /** Called when the client leaves. After it resolves, the rest of the body is dropped. */
  readonly onLeave: () => Promise<void>
}

export type EndedClient = { readonly hasLeft: boolean; readonly wasUnread: boolean }

export type WebStream = {
  readonly body: ReadableStream<Uint8Array>
  /** Reads the rest of the body even if it is not sent. */
  readonly drain: () => void
  /** Call this if the client has left without cancelling the body. */
  readonly leave: () => void
  /** Breaks off the body, unless it has ended. Neither `onEnd` nor `onFailure` is called after that. */
  readonly cut: () => void
}

export function webStream(source: ReadableStream<Uint8Array>, options: WebStreamOptions): WebStream {
  const reader = source.getReader()
  const copy = new StreamCopy()
  const clientWait = new ClientWait()
  let controller!: ReadableStreamDefaultController<Uint8Array>
  /** Whether pieces are no longer sent. */
  let isUnread = false
  let isGone = false
  let isOver = false
  let isReading = false
  const finish = (how: () => void): void => {
    if (isOver) return
    isOver = true
    how()
  }
  const giveUp = (): void =>
    finish(() => {
      void reader.cancel().catch(() => {})
      options.onFailure(isGone)
    })
  const readOne = async (): Promise<void> => {
    if (isOver) return
    let piece: Awaited<ReturnType<typeof reader.read>>
    isReading = true
    clientWait.end()
    try {
      piece = await reader.read()
    } catch (error) {
      finish(() => options.onFailure(isGone || clientWait.isLong))
      if (!isUnread) controller.error(error)
      return
    } finally {
      isReading = false
    }
    if (isOver) return
    if (piece.done) {
      finish(() => options.onEnd(copy.body(), copy.bytes, { hasLeft: isGone, wasUnread: clientWait.isLong }))
      if (!isUnread) controller.close()
      return
    }
    copy.add(piece.value)
    if (!isUnread) {
      controller.enqueue(piece.value)
      clientWait.begin()
    } else if (isGone && copy.isTooLong) giveUp()
  }
  // A handler may break off because its client stopped reading. A host whose client reads requests the next piece at
  // once, and gets the error there.
  reader.closed.catch((error: unknown) => {
    setTimeout(() => {
      if (isReading || isOver || copy.bytes === 0) return
      finish(() => options.onFailure(true))
      if (!isUnread) controller.error(error)
    }, 0)
  })
  // Reads run one at a time, because the last requested piece may arrive after the client has left.
  let last = Promise.resolve()
  const step = (): Promise<void> => {
    last = last.then(readOne)
    return last
  }
  const drain = async (): Promise<void> => {
    isUnread = true
    while (!isOver) await step()
  }
  const leave = (): void => {
    if (isGone || isOver) return
    isGone = true
    isUnread = true
    if (copy.isTooLong) {
      giveUp()
      return
    }
    void drain()
    void options.onLeave().then(giveUp, giveUp)
  }
  const cut = (): void =>
    finish(() => {
      void reader.cancel().catch(() => {})
      if (!isUnread) controller.error(new Error('the time of the response is up'))
    })
  const body = new ReadableStream<Uint8Array>(
    {
      start: (own) => {
        controller = own
      },
      pull: step,
      cancel: leave,
    },
    // Nothing is read before it is requested.
    { highWaterMark: 0 },
  )
  return { body, drain: () => void drain(), leave, cut }
}

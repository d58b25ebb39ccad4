/** The state of one request on a connection. */
import type { BodyReservation } from './BodyBudget.js'
import { BodyError, type BodyReader } from './BodyReader.js'
import type * as RequestHead from './RequestHead.js'

/** A body that is still arriving. */
export type PendingBody = {
  reader: BodyReader
  deadline: number
  resolve: (body: Buffer) => void
  reject: (error: unknown) => void
  memory: BodyReservation
  /** Whether the response began before, so that the memory is released with the body. */
  isAnswered: boolean
}

/** Releases the memory of an exchange that has its response, as soon as its body no longer arrives. */
export function releaseMemory({ memory }: Exchange, arriving: PendingBody | undefined): void {
  if (arriving === undefined) memory?.release()
  else arriving.isAnswered = true
}

/** Passes on a body that has arrived. */
export function finishBody({ reader, resolve, memory, isAnswered }: PendingBody): void {
  memory.end()
  resolve(reader.take())
  if (isAnswered) memory.release()
}

/** Wipes a body that does not arrive completely. Its memory is available at once, whenever the response comes. */
export function failBody({ reader, reject, memory }: PendingBody, error: unknown): void {
  reader.discard()
  memory.release()
  reject(error)
}

/** The error of a body whose peer disconnected. */
export function brokenOff(): BodyError {
  return new BodyError('body_malformed', 'the request body is incomplete')
}

/** A request whose response was not sent yet. */
export type Exchange = {
  readonly head: RequestHead.RequestHead
  memory: BodyReservation | undefined
  reader: BodyReader | undefined
  isWhole: boolean
  isOver: boolean
  isTaken: boolean
}
/** The state of a connection. */
export type Phase = 'idle' | 'head' | 'handling' | 'body' | 'streaming' | 'ending'

export function newExchange(head: RequestHead.RequestHead): Exchange {
  return { head, memory: undefined, reader: undefined, isWhole: false, isOver: false, isTaken: false }
}

/** The state of one request on a connection. */
import type { BodyReservation } from './BodyBudget.js'
import type { BodyReader } from './BodyReader.js'
import type * as RequestHead from './RequestHead.js'

/** A body that is still arriving. */
export type PendingBody = {
  reader: BodyReader
  deadline: number
  resolve: (body: Buffer) => void
  reject: (error: unknown) => void
  /** Released with the body, if the response began before. */
  memory?: BodyReservation | undefined
}

/** Releases the memory of an exchange that has its response, as soon as its body no longer arrives. */
export function releaseMemory({ memory }: Exchange, arriving: PendingBody | undefined): void {
  if (arriving === undefined) memory?.release()
  else arriving.memory = memory
}

/** Passes on a body that has arrived. */
export function finishBody({ reader, resolve, memory }: PendingBody): void {
  resolve(reader.take())
  memory?.release()
}

/** Wipes a body that does not arrive completely. */
export function failBody({ reader, reject, memory }: PendingBody, error: unknown): void {
  reader.discard()
  memory?.release()
  reject(error)
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

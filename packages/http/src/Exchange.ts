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

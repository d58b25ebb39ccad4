import type { NodeBindings } from '../honoContext.js'

/** What a handler writes to the response of Node itself, around its app. */
export type DirectOutput = {
  /** Gives the response back. Whether anything was written to it. */
  remove: () => boolean
}

/** Access to the responses of Node behind those of Hono. */
export type NodeResponses = {
  /** Captures what a handler writes to the response of Node; undefined if there is none. */
  captureDirect: (bindings: NodeBindings | undefined) => DirectOutput | undefined
  /** Cuts the response of Node, unless it has ended. */
  cutDirect: (bindings: NodeBindings | undefined) => void
  /** Calls `undelivered` if the connection closes before all of the response was sent. */
  watchDelivery: (bindings: NodeBindings | undefined, undelivered: (() => Promise<void>) | undefined) => void
}

import type { NodeBindings } from '../honoContext.js'

/** Captures the output that a handler writes directly to Node's response, bypassing its app. */
export type DirectOutput = {
  /** Restores the response. Returns whether anything was written to it. */
  remove: () => boolean
}

/** Access to Node's responses behind those of Hono. */
export type NodeResponses = {
  /** Captures what a handler writes to Node's response; undefined if there is none. */
  captureDirect: (bindings: NodeBindings | undefined) => DirectOutput | undefined
  /** Breaks off Node's response, unless it has ended. */
  cutDirect: (bindings: NodeBindings | undefined) => void
  /** Calls `undelivered` if the connection closes before the whole response was sent. */
  watchDelivery: (bindings: NodeBindings | undefined, undelivered: (() => Promise<void>) | undefined) => void
}

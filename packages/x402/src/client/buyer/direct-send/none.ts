/** For runtimes other than Node, where `fetch` is the only way to send a request. */
import type { DirectSend, IsStaleFailure } from './DirectSend.js'

export const sendDirectly: DirectSend = () => undefined

export const isStaleFailure: IsStaleFailure = () => false

/** For runtimes other than Node, whose `fetch` is the only way. */
import type { DirectSend, IsStaleFailure } from './DirectSend.js'

export const sendDirectly: DirectSend = () => undefined

export const isStaleFailure: IsStaleFailure = () => false

/** For runtimes other than Node, whose `fetch` is the only way. */
import type { DirectSend } from './DirectSend.js'

export const sendDirectly: DirectSend = () => undefined

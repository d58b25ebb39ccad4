/** For runtimes other than Node, which have no response behind that of Hono. */
import type { NodeResponses } from './NodeResponses.js'

export const captureDirect: NodeResponses['captureDirect'] = () => undefined

export const cutDirect: NodeResponses['cutDirect'] = () => {}

export const watchDelivery: NodeResponses['watchDelivery'] = () => {}

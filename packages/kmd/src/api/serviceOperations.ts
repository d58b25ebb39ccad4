/** Operations about the daemon itself. */
import type { Implementations } from './Implementation.js'

export const serviceOperations = {
  GetVersion: {
    run: getVersion,
    runAsAgent: getVersion,
  },
} satisfies Partial<Implementations>

function getVersion() {
  return { versions: ['v1'] }
}

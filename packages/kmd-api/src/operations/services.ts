/** Operations about the daemon itself. */
import { allowed, define } from '../Description.js'

/** Operations about the daemon itself. */
export const serviceOperations = {
  GetVersion: define({
    method: 'GET',
    path: '/versions',
    about: 'Lists the versions of this API that the daemon supports.',
    open: 'reference',
    request: [],
    response: [{ name: 'versions', shape: { type: 'list', of: { type: 'string' } } }],
    responseName: 'VersionsResponse',
    access: { console: 'allowed', agent: allowed('clients request it first, and it reveals nothing') },
    audit: 'none',
  }),
}

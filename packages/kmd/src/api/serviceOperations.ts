/** Operations about the daemon itself. */
import { define } from './Operation.js'

export const serviceOperations = [
  define({
    id: 'GetVersion',
    method: 'GET',
    path: '/versions',
    about: 'Lists the versions of this API that the daemon speaks.',
    open: 'reference',
    request: [],
    response: [{ name: 'versions', shape: { type: 'list', of: { type: 'string' } } }],
    responseName: 'VersionsResponse',
    run: () => ({ versions: ['v1'] }),
  }),
]

/** Separate from the operations, because the response is the document itself and not an envelope. */
export const descriptionPath = '/swagger.json'

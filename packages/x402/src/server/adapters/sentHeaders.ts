import type { Admission } from '../exchange/Admission.js'
import { grantedHeaders, type HeaderList } from '../gate/responses.js'

/**
 * The headers for a response that is sent before its payment is settled, or instead of that. A shared cache must not
 * serve it to others either: it may be what is paid for, or an error that a payer has provoked.
 */
export function sentHeaders({ headers }: Pick<Admission, 'headers'>): HeaderList {
  return headers.some(([name]) => name === 'Cache-Control') ? headers : [...grantedHeaders, ...headers]
}

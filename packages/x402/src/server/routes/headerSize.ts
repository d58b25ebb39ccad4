/** Checks whether the price of a route fits into the header that carries it, behind proxies with small buffers. */
import { PaymentHeaders, type PaymentRequired } from '@latchkey/x402-wire'

/**
 * By default, nginx reads the head of a response into one page of memory, 4,096 bytes on most machines, and responds
 * with 502 if the head is larger. Other headers of a 402 take up to 600 bytes.
 */
const maxHeaderBytes = 3_500

/** The startup warning about a route whose 402 may not pass a proxy; undefined if it does. */
export function headerWarning(key: string, required: PaymentRequired): string | undefined {
  const bytes = PaymentHeaders.encode(required).length
  if (bytes <= maxHeaderBytes) return undefined
  const offers = `${required.accepts.length} offers`
  return (
    `${key}: the header ${PaymentHeaders.paymentRequired} has ${bytes} bytes for ${offers}; proxies with a 4 kB header limit respond with ` +
    '502. Accept fewer payments, shorten `description` and `extra`, or set `proxy_buffer_size 16k` in nginx'
  )
}

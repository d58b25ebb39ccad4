/** The extension `payment-secret`: only a buyer that presents the secret of a payment gets its response again. */
import { Bytes, Hash, Json } from '@latchkey/algorand'

const key = 'payment-secret'
const secretBytes = 32

/**
 * Adds a new secret and its hash to a seller's extensions. Returns them unchanged if the seller did not declare the
 * extension.
 */
export function withSecret<T>(extensions: T): T {
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  if (!Json.isObject(info) || info['algorithm'] !== 'sha-256') return extensions
  const secret = Bytes.random(secretBytes)
  const proof = { hash: Bytes.toBase64Url(Hash.sha256(secret)), secret: Bytes.toBase64Url(secret) }
  return { ...extensions, [key]: { ...(extension as object), info: { ...info, ...proof } } }
}

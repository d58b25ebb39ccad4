/** Reads in an OpenAPI document whether a request has to be paid for. */
import { Json } from '@latchkey/algorand'

/** More than a gate lists. */
const maxPaths = 5_000

/** Whether a document, written by a stranger, lists the request with `x-payment-info`. */
export function isPaidOperation(text: string, { method, path }: { method: string; path: string }): boolean {
  const paths = Json.parseObject(text)?.['paths']
  if (!Json.isObject(paths)) return false
  const segments = path.split('/')
  for (const [template, operations] of Object.entries(paths).slice(0, maxPaths)) {
    if (!Json.isObject(operations) || !matches(template, segments)) continue
    const operation = operations[method.toLowerCase()]
    if (Json.isObject(operation) && Json.isObject(operation['x-payment-info'])) return true
  }
  return false
}

function matches(template: string, path: readonly string[]): boolean {
  const segments = template.split('/')
  if (segments.length !== path.length) return false
  return segments.every((segment, index) => /^\{[^{}]+\}$/.test(segment) || segment === path[index])
}

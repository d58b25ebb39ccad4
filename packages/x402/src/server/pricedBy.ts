import type { Route } from './GateOptions.js'
import { withoutPasses } from './passCookie.js'

const defaultVaryBy = ['Authorization', 'Cookie']

/** The values of the headers that the price of a route may depend on. */
export function pricedBy({ headers }: Request, { varyBy = defaultVaryBy }: Route): (string | null)[] {
  return varyBy.map((name) => {
    const value = headers.get(name)
    return /^cookie$/i.test(name) ? withoutPasses(value) : value
  })
}

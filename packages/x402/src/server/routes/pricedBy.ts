import type { Route } from '../gate/GateOptions.js'
import { withoutPasses } from '../passes/passCookie.js'

const defaultVaryBy = ['Authorization', 'Cookie']

/** Whether a function chooses a price or a payee of the route. */
export function hasDynamicPrice(route: Route | undefined): boolean {
  return [route?.accepts].flat().some((one) => typeof one?.price === 'function' || typeof one?.payTo === 'function')
}

/** The values of the headers that the price of a route may depend on. */
export function pricedBy({ headers }: Request, { varyBy = defaultVaryBy }: Route): (string | null)[] {
  return varyBy.map((name) => {
    const value = headers.get(name)
    return /^cookie$/i.test(name) ? withoutPasses(value) : value
  })
}

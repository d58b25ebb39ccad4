/** Completes the short form of a gate's options: routes that are only a price, a payee for all routes, a network. */
import type { Money } from '@latchkey/x402-wire'
import { Chain, isUnset } from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import type { UpToPrice } from '../routes/Requirements.js'
import { GateError, type GateOptions, type Route, type RouteAccept } from './GateOptions.js'

/** The options of a gate whose routes name every payee, and whose chains are open. */
export type CompleteOptions = Omit<GateOptions, 'routes' | 'chains' | 'network' | 'payTo'> & {
  readonly routes: { readonly [key: string]: Route }
  readonly chains: Chain | readonly Chain[]
}

/** The network of a seller that names none. Nothing of value is paid there. */
const defaultNetwork = 'testnet'

/**
 * Returns options without a short form.
 *
 * @throws OptionsError for `network` beside `chains`, and for one that is named and not set
 * @throws ChainError for a network that cannot be used
 * @throws AlgodError if the network is local and no node responds
 */
export async function completeOptions(options: GateOptions): Promise<CompleteOptions> {
  const { routes, payTo: _, network: __, ...others } = options
  const completed = Object.entries(routes ?? {}).map(([key, route]) => [key, completeRoute(key, route, options)])
  return {
    ...others,
    routes: routes === undefined ? routes : Object.fromEntries(completed),
    chains: await chainsOf(options),
  }
}

/** A member that is there and not set is an unset environment variable, not a wish for the default. */
async function chainsOf(options: GateOptions): Promise<Chain | readonly Chain[]> {
  const { chains, network = defaultNetwork } = options
  const hint = 'Name one network, or pass chains that `await Chain.open(...)` returned.'
  if ('network' in options && isUnset(options.network)) throw new OptionsError('network is not set', hint)
  if (!('chains' in options)) return Chain.open({ network })
  if ('network' in options) throw new OptionsError('network and chains are both set', hint)
  return chains!
}

function completeRoute(key: string, route: GateOptions['routes'][string], options: GateOptions): Route {
  const { accepts, ...others } = isPrice(route) ? { accepts: { price: route } } : (route ?? {})
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly RouteAccept[]
  // A payee that is there and not set is an unset environment variable, and is refused later.
  if (!('payTo' in options) || list.every((accept) => isUnset(accept) || 'payTo' in accept)) {
    return { ...others, accepts: list } as Route
  }
  if (isUnset(options.payTo)) {
    throw new GateError('invalid_gate_option', `${key}: payTo is not set`, { hint: 'Pass the address to be paid.' })
  }
  const { payTo } = options
  return { ...others, accepts: list.map((accept) => ({ payTo, ...accept })) } as Route
}

function isPrice(route: unknown): route is Money | UpToPrice {
  if (typeof route === 'string' || typeof route === 'number') return true
  return typeof route === 'object' && route !== null && 'upTo' in route && !('accepts' in route)
}

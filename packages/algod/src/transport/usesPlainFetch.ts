/** Programs replace it, to test or to trace; then theirs is used. */
const nodeFetch = globalThis.fetch
/**
 * Where a program has set how `fetch` connects: by a proxy, or with authorities of its own. Node has the first to version 22,
 * both in 24, and uses the second alone since 26.
 */
const dispatchers = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`))

type Dispatcher = { readonly dispatch?: unknown; readonly constructor: { readonly name: string } }

/** On Node: whether `fetch` is its own and connects as `node:http` does, so that a request may go there instead. */
export function usesPlainFetch(): boolean {
  if (globalThis.fetch !== nodeFetch || nodeFetch.name !== 'fetch') return false
  const { NODE_USE_ENV_PROXY: isProxied, NODE_OPTIONS: options = '' } = process.env
  if (isProxied !== undefined || process.execArgv.includes('--use-env-proxy')) return false
  if (options.includes('--use-env-proxy')) return false
  const own = dispatchers.map((name) => Reflect.get(globalThis, name) as Dispatcher | undefined)
  // Node 26 gives older versions of undici a wrapper of its dispatcher, which its own `fetch` does not use.
  const used = own[1] !== undefined && own[0]?.constructor.name === 'Dispatcher1Wrapper' ? own.slice(1) : own
  return used.every((one) => one === undefined || isPlainDispatcher(one))
}

/** An agent that was made without options, and with nothing in between. */
function isPlainDispatcher(own: Dispatcher): boolean {
  const prototype = Object.getPrototypeOf(own) as Dispatcher
  if (prototype.constructor.name !== 'Agent' || own.dispatch !== prototype.dispatch) return false
  const key = Object.getOwnPropertySymbols(own).find(({ description }) => description === 'options')
  const options: unknown = key === undefined ? undefined : Reflect.get(own, key)
  if (typeof options !== 'object' || options === null) return false
  return Object.values(options).every((value) => value === undefined || value === Number.POSITIVE_INFINITY)
}

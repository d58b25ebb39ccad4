/** Programs replace `fetch` for tests or tracing. Their replacement is used then. */
const nodeFetch = globalThis.fetch
/**
 * The symbols under which a program configures how `fetch` connects, such as with a proxy or custom certificate
 * authorities. Node up to version 22 has the first one, Node 24 has both, and Node 26 and later use only the second.
 */
const dispatchers = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`))

type Dispatcher = { readonly dispatch?: unknown; readonly constructor: { readonly name: string } }

/** On Node, whether `fetch` is the original and connects like `node:http`, so that a request may use the latter. */
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

/** Whether the agent was created without options or interceptors. */
function isPlainDispatcher(own: Dispatcher): boolean {
  const prototype = Object.getPrototypeOf(own) as Dispatcher
  if (prototype.constructor.name !== 'Agent' || own.dispatch !== prototype.dispatch) return false
  const key = Object.getOwnPropertySymbols(own).find(({ description }) => description === 'options')
  const options: unknown = key === undefined ? undefined : Reflect.get(own, key)
  if (typeof options !== 'object' || options === null) return false
  return Object.values(options).every((value) => value === undefined || value === Number.POSITIVE_INFINITY)
}

/** Whether it asks `fetch` for no more than sending it: neither for a proxy of its own, nor to check a hash, for example. */
export function isPlainRequest(request: Request, init: RequestInit | undefined): boolean {
  const key = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'dispatcher')
  const ofRequest: unknown = key === undefined ? undefined : Reflect.get(request, key)
  const { dispatcher = ofRequest } = (init ?? {}) as { dispatcher?: unknown }
  const { integrity, referrer, cache, mode } = request
  const isUsual = integrity === '' && referrer === 'about:client' && cache === 'default' && mode === 'cors'
  return isUsual && (dispatcher ?? undefined) === undefined
}

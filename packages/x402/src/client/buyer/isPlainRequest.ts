/** Whether a request uses only basic features of `fetch`: no custom dispatcher or integrity check, for example. */
export function isPlainRequest(request: Request, init: RequestInit | undefined): boolean {
  const key = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'dispatcher')
  const ofRequest: unknown = key === undefined ? undefined : Reflect.get(request, key)
  const { dispatcher = ofRequest } = (init ?? {}) as { dispatcher?: unknown }
  const { integrity, referrer, cache, mode } = request
  const isUsual = integrity === '' && referrer === 'about:client' && cache === 'default' && mode === 'cors'
  return isUsual && (dispatcher ?? undefined) === undefined
}

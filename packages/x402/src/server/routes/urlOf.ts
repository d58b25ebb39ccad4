const urls = new WeakMap<Request, URL>()

/** The read-only URL of a request. Several parts of the gate need it, so it is parsed once. */
export function urlOf(request: Request): Readonly<URL> {
  let url = urls.get(request)
  if (url === undefined) {
    url = new URL(request.url)
    urls.set(request, url)
  }
  return url
}

const urls = new WeakMap<Request, URL>()

/** The URL of a request, to be read only: several parts of the gate ask for it, and it is parsed once. */
export function urlOf(request: Request): Readonly<URL> {
  let url = urls.get(request)
  if (url === undefined) {
    url = new URL(request.url)
    urls.set(request, url)
  }
  return url
}

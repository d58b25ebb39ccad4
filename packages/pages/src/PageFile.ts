/** A file of a built page. */
export type PageFile = {
  /** The value of the header `Content-Type`. */
  readonly type: string
  readonly body: Uint8Array
  /** Whether the name contains a hash of the content, so that clients may cache the file forever. */
  readonly isImmutable: boolean
  /** The body, compressed once and cached. */
  readonly gzip: () => Uint8Array
  /**
   * Returns the body for a client with this `Accept-Encoding` header, and the value of `Content-Encoding` if it is
   * compressed. The response depends on the header: send `Vary: Accept-Encoding`.
   */
  readonly bodyFor: (acceptEncoding: string | null | undefined) => EncodedBody
}

/** A body in the form in which it is sent. */
export type EncodedBody = { readonly body: Uint8Array; readonly encoding: 'gzip' | undefined }

/** Creates a file that `compress` compresses on first use. */
export function pageFile(
  file: Pick<PageFile, 'type' | 'body' | 'isImmutable'>,
  compress: (bytes: Uint8Array) => Uint8Array,
): PageFile {
  let compressed: Uint8Array | undefined
  const gzip = (): Uint8Array => {
    compressed ??= compress(file.body)
    return compressed
  }
  const bodyFor = (acceptEncoding: string | null | undefined): EncodedBody =>
    acceptsGzip(acceptEncoding ?? '') ? { body: gzip(), encoding: 'gzip' } : { body: file.body, encoding: undefined }
  return { ...file, gzip, bodyFor }
}

/** Whether gzip is named with a weight other than 0 (RFC 9110, 12.5.3). */
function acceptsGzip(acceptEncoding: string): boolean {
  return /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[^,]*)?(,|$)/i.test(acceptEncoding.slice(0, 1_000))
}

/** A file of a built page. */
export type PageFile = {
  /** The value of the header `Content-Type`. */
  readonly type: string
  readonly body: Uint8Array
  /** Whether the name contains a hash of the content, so that clients may cache the file forever. */
  readonly isImmutable: boolean
}

/** The whole response of a handler, held for its buyer. */
export type HeldAnswer = {
  readonly status: number
  /** Names and values. A name may occur several times. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Uint8Array
}

/** The size of an answer, including its headers. */
export function bytesOf({ headers, body }: HeldAnswer): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, body.length)
}

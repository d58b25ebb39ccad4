/** Decodes the content encodings of a response body, as `fetch` does. */
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import type { ZlibOptions } from 'node:zlib'

type Zlib = typeof import('node:zlib')

/** Each encoding takes memory, and the server chooses how many there are. */
const maxEncodings = 5

/**
 * Leaves the bytes unchanged if an encoding is not known.
 *
 * @throws Error for more encodings than `fetch` accepts
 */
export function unpack(packed: Readable, header: string | null): Readable {
  if (header === null) return packed
  const names = header.toLowerCase().split(',')
  if (names.length > maxEncodings) throw new Error(`the body has ${names.length} encodings`)
  const zlib = process.getBuiltinModule('node:zlib')
  const decoders = names.map((name) => decoderOf(name.trim(), zlib)).reverse()
  let body = packed
  if (!decoders.every((start) => start !== undefined)) return body
  // Errors propagate to the last stream.
  for (const start of decoders) body = pipeline(body, start(), () => {})
  return body
}

function decoderOf(name: string, zlib: Zlib): (() => Transform) | undefined {
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  if (name === 'gzip' || name === 'x-gzip') return () => zlib.createGunzip(flush)
  if (name === 'deflate') return () => new Inflate(zlib, flush)
  if (name === 'br') return () => zlib.createBrotliDecompress()
  return undefined
}

/** Inflates data with or without a zlib header, because servers send both. The first byte shows which it is. */
class Inflate extends Transform {
  readonly #zlib: Zlib
  readonly #options: ZlibOptions
  #inner: Transform | undefined

  constructor(zlib: Zlib, options: ZlibOptions) {
    super()
    this.#zlib = zlib
    this.#options = options
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const inner = this.#inner ?? this.#open(piece[0]!)
    if (inner.write(piece)) done()
    else inner.once('drain', done)
  }

  override _flush(done: TransformCallback): void {
    if (this.#inner === undefined) done()
    else this.#inner.once('end', () => done()).end()
  }

  override _read(size: number): void {
    this.#inner?.resume()
    super._read(size)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner?.destroy()
    done(error)
  }

  #open(first: number): Transform {
    const { createInflate, createInflateRaw } = this.#zlib
    const inner = (first & 0x0f) === 0x08 ? createInflate(this.#options) : createInflateRaw(this.#options)
    inner.on('data', (piece) => this.push(piece) || inner.pause())
    inner.on('error', (error) => this.destroy(error))
    this.#inner = inner
    return inner
  }
}

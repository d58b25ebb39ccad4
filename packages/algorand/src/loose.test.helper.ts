import type { Kind, Struct } from './internal/Schema.js'
import type { Writer } from './Msgpack.js'

/** Returns a number below `limit`. The choice must not change the meaning of the written bytes. */
export type Choose = (limit: number) => number

/** Writes a value in a valid form that need not be the canonical one. */
export function write(kind: Kind, value: unknown, writer: Writer, choose: Choose): void {
  switch (kind.kind) {
    case 'uint':
      uint(BigInt(value as bigint | number), writer, choose)
      return
    case 'bool':
      writer.bool(value as boolean)
      return
    case 'fixed': {
      const bytes = value as Uint8Array
      if (choose(4) > 0) {
        blob(bytes, writer, choose)
        return
      }
      writer.raw(Uint8Array.of(0xdc, bytes.length >> 8, bytes.length & 0xff))
      for (const byte of bytes) uint(BigInt(byte), writer, choose)
      return
    }
    case 'bytes':
      blob(value as Uint8Array, writer, choose)
      return
    case 'utf8':
    case 'text':
      blob(typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array), writer, choose)
      return
    case 'list': {
      const values = value as unknown[]
      header(choose, values.length, writer, [0xdc, 0xdd], () => writer.arrayHeader(values.length))
      for (const element of values) write(kind.of, element, writer, choose)
      return
    }
    case 'uintMap': {
      const entries = shuffled([...(value as Map<bigint, unknown>)], choose)
      header(choose, entries.length, writer, [0xde, 0xdf], () => writer.mapHeader(entries.length))
      for (const [key, element] of entries) {
        uint(key, writer, choose)
        write(kind.of, element, writer, choose)
      }
      return
    }
    case 'struct':
      struct(kind, value as Record<string, unknown>, writer, choose)
      return
  }
}

function struct(kind: Struct, values: Record<string, unknown>, writer: Writer, choose: Choose): void {
  const entries = shuffled(
    kind.fields.filter((field) => values[field.name] !== undefined),
    choose,
  ).map((field) => ({ field, value: values[field.name] }))
  // Absent fields may be sent as nil.
  for (const field of kind.fields) {
    if (values[field.name] === undefined && choose(12) === 0) entries.unshift({ field, value: null })
  }
  header(choose, entries.length, writer, [0xde, 0xdf], () => writer.mapHeader(entries.length))
  for (const { field, value } of entries) {
    blob(Buffer.from(field.name), writer, choose)
    if (value === null) writer.nil()
    else write(field.of, value, writer, choose)
  }
}

function uint(value: bigint, writer: Writer, choose: Choose): void {
  const widths = [8n, 16n, 32n, 64n]
  const pick = choose(9)
  const bits = widths[pick >> 1]
  const signed = (pick & 1) === 1
  if (bits === undefined || value >= 2n ** (signed ? bits - 1n : bits)) {
    writer.uint(value)
    return
  }
  const out = Buffer.alloc(9)
  out[0] = (signed ? 0xd0 : 0xcc) + (pick >> 1)
  out.writeBigUInt64BE(value << (64n - bits), 1)
  writer.raw(out.subarray(0, 1 + Number(bits) / 8))
}

function blob(bytes: Uint8Array, writer: Writer, choose: Choose): void {
  const wide = Uint8Array.of(0, 0, bytes.length >> 8, bytes.length & 0xff)
  const pick = choose(6)
  if (pick === 0) writer.strBytes(bytes)
  else if (pick === 1) writer.bin(bytes)
  else if (pick === 2) writer.raw(Uint8Array.of(0xc5)).raw(wide.subarray(2)).raw(bytes)
  else if (pick === 3) writer.raw(Uint8Array.of(0xda)).raw(wide.subarray(2)).raw(bytes)
  else if (pick === 4) writer.raw(Uint8Array.of(0xc6)).raw(wide).raw(bytes)
  else writer.raw(Uint8Array.of(0xdb)).raw(wide).raw(bytes)
}

function header(choose: Choose, count: number, writer: Writer, markers: [number, number], shortest: () => void): void {
  const pick = choose(3)
  if (pick === 0) shortest()
  else if (pick === 1) writer.raw(Uint8Array.of(markers[0], count >> 8, count & 0xff))
  else writer.raw(Uint8Array.of(markers[1], 0, 0, count >> 8, count & 0xff))
}

function shuffled<T>(values: readonly T[], choose: Choose): T[] {
  const out = [...values]
  for (let index = out.length - 1; index > 0; index--) {
    const other = choose(index + 1)
    const swapped = out[index]!
    out[index] = out[other]!
    out[other] = swapped
  }
  return out
}

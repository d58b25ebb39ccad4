/** How clients read a response: its schema without documentation. Bundles of web pages have only this part. */
import type { Member, Shape } from './Schema.js'

/** Reads the members of an object by name. */
export type Reading = { readonly [name: string]: MemberReading }

/**
 * Reads a member. `blank` is a text that may be absent. A list of one element reads each element of a list. A list of
 * two reads an object and converts it.
 */
export type MemberReading =
  | 'text'
  | 'blank'
  | 'bool'
  | 'uint'
  | 'integer'
  | 'bytes'
  | 'json'
  | Reading
  | readonly [MemberReading]
  | readonly [Reading, (read: never) => unknown]

const readings = new WeakMap<readonly Member[], Reading>()

/** Returns the reading of a response or of an object in it, always the same for the same members. */
export function readingOf(members: readonly Member[]): Reading {
  const known = readings.get(members)
  if (known !== undefined) return known
  const reading = Object.fromEntries(members.map((member) => [member.name, readingOfMember(member)]))
  readings.set(members, reading)
  return reading
}

function readingOfMember({ shape, blank }: Pick<Member, 'shape' | 'blank'>): MemberReading {
  switch (shape.type) {
    case 'string':
    case 'text':
      return blank ? 'blank' : 'text'
    case 'base64':
    case 'key':
      return 'bytes'
    case 'list':
      return [readingOfMember({ shape: shape.of })]
    case 'object':
      return readingOfObject(shape)
    default:
      return shape.type
  }
}

function readingOfObject({ members, convert }: Extract<Shape, { type: 'object' }>): MemberReading {
  return convert === undefined ? readingOf(members) : [readingOf(members), convert]
}

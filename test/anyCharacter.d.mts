import type fc from 'fast-check'

/** A random Unicode character, as the `unit` of `fc.string`. */
export declare const anyCharacter: fc.Arbitrary<string>

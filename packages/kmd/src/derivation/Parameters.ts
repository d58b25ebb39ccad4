import { KmdError } from '../errors.js'

/** The cost parameters of scrypt (RFC 7914). */
export type Parameters = {
  n: number
  r: number
  p: number
}

/**
 * Parameters come from wallet files, so a forged file could demand any amount of memory or time. The ceilings allow 32
 * times the work of a default wallet (65536, 1, 32) and reject more.
 */
const maximumLaneBytes = 256 * 1024 * 1024
const maximumWork = 2 ** 26
/** PBKDF2 writes 128 * r * p bytes on the calling thread. One mebibyte takes some milliseconds. */
const maximumInputBytes = 1024 * 1024
const maximumKeyLength = 1024

/**
 * Checks that scrypt is defined for these parameters and that they are within the ceilings.
 *
 * @throws {@link KmdError} `bad_scrypt_parameters` or `scrypt_ceiling`.
 */
export function check(parameters: Parameters & { keyLength: number }): void {
  const { n, r, p, keyLength } = parameters
  // RFC 7914 also requires n < 2^(16 * r), which rules out 65536 with r = 1: the default of every kmd wallet.
  if (!Number.isSafeInteger(n) || n < 2 || !Number.isInteger(Math.log2(n))) {
    throw undefinedFor(`scrypt n must be a power of two above 1, not ${n}`)
  }
  if (!Number.isSafeInteger(r) || r < 1) throw undefinedFor(`scrypt r must be a positive integer, not ${r}`)
  if (!Number.isSafeInteger(p) || p < 1) throw undefinedFor(`scrypt p must be a positive integer, not ${p}`)
  if (r * p >= 2 ** 30) throw undefinedFor(`scrypt r * p must be below 2^30, not ${r * p}`)
  if (!Number.isSafeInteger(keyLength) || keyLength < 1) {
    throw undefinedFor(`the key length must be a positive integer, not ${keyLength}`)
  }
  checkCeiling(maximumLaneBytes, laneBytes(parameters), 'bytes of memory for one lane (128 * n * r)')
  checkCeiling(maximumWork, work(parameters), 'units of work (n * r * p)')
  checkCeiling(maximumInputBytes, inputBytes(parameters), 'bytes of input to the lanes (128 * r * p)')
  checkCeiling(maximumKeyLength, keyLength, 'bytes of key')
}

/** The memory of one mixing lane, give or take a block. */
export function laneBytes({ n, r }: Parameters): number {
  return 128 * n * r
}

/** A measure proportional to the time of a derivation. A default wallet is 2^21. */
export function work({ n, r, p }: Parameters): number {
  return n * r * p
}

/** The size of the lanes' input blocks, and of their output blocks. */
export function inputBytes({ r, p }: Parameters): number {
  return 128 * r * p
}

function checkCeiling(ceiling: number, value: number, what: string): void {
  if (value <= ceiling) return
  const cause = new RangeError(`the scrypt parameters require ${value} ${what}; the maximum is ${ceiling}`)
  throw new KmdError('scrypt_ceiling', { cause })
}

function undefinedFor(detail: string): KmdError {
  return new KmdError('bad_scrypt_parameters', { cause: new RangeError(detail) })
}

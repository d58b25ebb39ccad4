/**
 * Sets the seed of random cases. The seed is the same in every run, so a test that passed does not fail later without a
 * change. `LATCHKEY_SEED=random` tries new cases, and a number repeats those of a failure, which prints it.
 */
import fc from 'fast-check'

const fixedSeed = 591_498_719
const given = process.env.LATCHKEY_SEED ?? ''

export const seed = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : given === '' ? fixedSeed : Number(given)

if (!Number.isInteger(seed)) throw new Error(`LATCHKEY_SEED is a number or "random", and not ${JSON.stringify(given)}`)

// fast-check includes the seed in the message of a failed property.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })

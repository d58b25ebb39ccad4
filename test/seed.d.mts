/** The seed of random cases in this run. */
export const seed: number

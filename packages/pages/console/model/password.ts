/** What to say of a password that is being chosen. */
export type Strength = { level: 'none' | 'weak' | 'fair' | 'good'; note: string }

/** By length and variety only: a note for people, and no gate. */
export function strengthOf(password: string): Strength {
  if (password === '') return { level: 'none', note: '' }
  const different = new Set(password).size
  const effective = Math.min(password.length, different * 2)
  if (effective < 8) {
    return { level: 'weak', note: 'Weak: whoever gets hold of the wallet file can guess it. Take a longer one.' }
  }
  if (effective < 14) {
    return { level: 'fair', note: 'Fair. Four or five words that have nothing to do with each other are better.' }
  }
  return { level: 'good', note: 'Good, if it is used nowhere else.' }
}

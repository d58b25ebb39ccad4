/** Feedback on a new password. */
export type PasswordStrength = { level: 'none' | 'weak' | 'fair' | 'good'; note: string }

/** Judges only length and variety. The result informs and never rejects a password. */
export function passwordStrength(password: string): PasswordStrength {
  if (password === '') return { level: 'none', note: '' }
  const different = new Set(password).size
  const effective = Math.min(password.length, different * 2)
  if (effective < 8) {
    return { level: 'weak', note: 'Weak: anyone with a copy of the wallet file can guess it. Use a longer one.' }
  }
  if (effective < 14) {
    return { level: 'fair', note: 'Fair. Four or five unrelated words are better.' }
  }
  return { level: 'good', note: 'Good, if you do not use it anywhere else.' }
}

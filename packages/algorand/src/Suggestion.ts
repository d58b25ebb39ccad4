/** Suggestions for misspelt words. */

/**
 * Returns the candidate nearest to the word, or undefined if none is close enough.
 *
 * @example
 * Suggestion.closest('tesnet', ['mainnet', 'testnet']) // 'testnet'
 */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: string | undefined
  let fewest = limit + 1
  for (const candidate of candidates) {
    // The difference in length is a lower bound of the distance, so such candidates need no comparison.
    if (Math.abs(candidate.length - word.length) >= fewest) continue
    const changes = distance(candidate, word)
    if (changes >= fewest) continue
    best = candidate
    fewest = changes
  }
  return best
}

/**
 * Returns the result of {@link closest} as a hint, or undefined if no candidate is close.
 *
 * @example
 * Suggestion.didYouMean('tesnet', ['mainnet', 'testnet']) // 'did you mean testnet?'
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const near = closest(word, candidates)
  return near === undefined ? undefined : `did you mean ${near}?`
}

/** Returns the edit distance of two words: letters inserted, omitted, changed, or swapped with their neighbor. */
export function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const [above, row] = [rows[i - 1]!, [i]]
    for (let j = 1; j <= b.length; j++) {
      const changed = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(row[j - 1]! + 1, above[j]! + 1, changed)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

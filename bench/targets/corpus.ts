/** Request targets that are designed to be read in as many ways as possible. */

const pieces = [
  ...[
    '%252e',
    ';',
    '%2f',
    '%5c',
    '..',
    '//',
    '.',
    '\\',
    '%2e',
    '%3b',
    '/',
    '%',
    '#',
    '%25',
    '%252f',
    '%00',
    '%ff',
    '%c3%a9',
  ],
  ...[
    'weather',
    'priced',
    'files',
    'prices',
    'api/v1/things7',
    'x',
    '%66iles',
    'WEATHER',
    ';a',
    '/../',
    '/./',
    '%2e%2e/',
  ],
]
const queries = ['', '?', '?_method=PUT', '?%5fmethod=A,B,C', '?a[]=1&a=2', '?x402-page=x', '?a=%ff', '?a;b#c']

/** Targets found by hand that were slow in earlier versions or are close to a limit. */
export const worstTargets: readonly string[] = [
  `/${'%252e;%2f%5c..//'.repeat(120)}`,
  `/weather${'%252e;%2f%5c..//'.repeat(15)}`,
  `/files${';a/..//%2e%2f'.repeat(18)}`,
  `/api/v1/things7/${'%252f'.repeat(48)}`,
  `/weather${'/..;'.repeat(60)}`,
  `/files/${'%20a'.repeat(500)}`,
  `/files/${'%c3%a9'.repeat(330)}`,
  `/${'/'.repeat(8_000)}weather`,
  `/weather?${'_method=A&'.repeat(800)}`,
  `/weather?${Array.from({ length: 700 }, (_, index) => `_method=M${index}`).join('&')}`,
  `/priced?${'a=1&'.repeat(3_000)}`,
  `/priced?${Array.from({ length: 1_400 }, (_, index) => `a${index}=%20`).join('&')}`,
  `/priced?a=${'%20'.repeat(4_000)}`,
  `/priced?a=${'%20'.repeat(2_700)}`,
  `/priced?a=${'%C3%A9'.repeat(1_350)}`,
  `/priced?a=${'b'.repeat(8_100)}`,
  `/priced?${Array.from({ length: 100 }, (_, index) => `a${index}=${'%20'.repeat(25)}`).join('&')}`,
  `/weather?${';#'.repeat(4_000)}%_method=a`,
  `/weather?${'%5fm=1&'.repeat(1_900)}`,
  `/weather?${Array.from({ length: 1_200 }, (_, index) => `%5f${index}=%ff`).join('&')}`,
  `/weather?${'%'.repeat(14_000)}`,
  `/weather?${';#'.repeat(6_000)}%_method=a`,
]

export function hostileTargets(count: number, seed: number): string[] {
  const next = random(seed)
  const pick = (list: readonly string[]): string => list[Math.floor(next() * list.length)]!
  return Array.from({ length: count }, () => {
    // Most targets are short enough to be read in every way.
    const length = next() < 0.8 ? Math.ceil(next() * 40) : Math.ceil(next() * 400)
    const unit = Array.from({ length: Math.ceil(next() * 12) }, () => pick(pieces))
    const path = Array.from({ length }, (_, index) => unit[index % unit.length]).join('')
    return `/${pick(pieces)}${path}`.slice(0, 4_000) + pick(queries)
  })
}

/** A linear congruential generator, which gives the same targets in every run. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

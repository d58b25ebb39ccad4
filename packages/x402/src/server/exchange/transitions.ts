/** The states of a paid request, and the transitions between them. docs/architecture.md explains them. */

/** For each state, the functions that leave it, and the states that they lead to. */
export const transitions = {
  offered: { verify: ['verified', 'refused'], claim: ['claimed', 'busy', 'refused'] },
  verified: { claim: ['claimed', 'busy', 'refused'] },
  claimed: {
    check: ['open', 'refused'],
    settle: ['settling', 'busy'],
    start: ['running', 'busy', 'open', 'refused'],
    replace: ['lost'],
  },
  settling: { settle: ['settled', 'open', 'refused'] },
  settled: { start: ['running', 'busy', 'open'], deliver: ['delivered', 'busy'] },
  running: { answer: ['answered'], cancel: ['open', 'refused'], replace: ['lost'], abandon: ['open'] },
  answered: { answer: ['busy', 'open', 'refused'], settle: ['settling'], deliver: ['delivered', 'busy'] },
  lost: { answer: ['answered'], cancel: ['open'], settle: ['settling', 'busy'], abandon: ['open'] },
  delivered: { reopen: ['open'] },
  busy: { reopen: ['open'] },
  open: {},
  refused: {},
} as const

/** The state of a paid request. */
export type State = keyof typeof transitions

/** The states that can follow each state. */
export const nextStates = new Map(
  Object.entries(transitions).map(([state, functions]) => [state, new Set<State>(Object.values(functions).flat())]),
)

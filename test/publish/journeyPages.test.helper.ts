/** The pages that newcomers follow exactly as printed, by the name of their journey. */
export const journeys = {
  'sell: docs/start/selling.md': 'docs/start/selling.md',
  'buy: docs/start/buying.md': 'docs/start/buying.md',
  'give an agent a budget: docs/start/agents.md': 'docs/start/agents.md',
} as const

export const journeyPages: readonly string[] = Object.values(journeys)

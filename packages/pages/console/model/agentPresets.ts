/** Preset rules for new agents. They use ALGO if the network has no dollar asset. */

import { type AgentDraft, blankDraft, type LimitRow } from './agentDraft.js'
import type { AgentNetwork } from './agentNetwork.js'

export type Preset = {
  id: 'shopping' | 'research' | 'payroll' | 'custom'
  name: string
  about: string
  draft: AgentDraft
}

type Row = readonly [amount: string, per: LimitRow['per']]

export function presets(network: Pick<AgentNetwork, 'dollarAssetId'>): Preset[] {
  const hasDollars = network.dollarAssetId !== undefined
  const blank = blankDraft(network)
  const money = (amount: string): string => (hasDollars ? `$${amount}` : `${amount} ALGO`)
  /** Fees are in ALGO and need a separate limit next to one in dollars. */
  const withFees = (rows: readonly Row[], fees: Row): LimitRow[] =>
    [...rows, ...(hasDollars ? [fees] : [])].map(([amount, per], index) => {
      const unit = hasDollars && index < rows.length ? 'dollars' : 'algo'
      return { id: index + 1, amount, unit, assetId: '', per, payee: '' }
    })
  return [
    {
      id: 'shopping',
      name: 'Shopping agent',
      about: `${money('5')} a day, ${money('0.50')} each`,
      draft: {
        ...blank,
        limits: withFees(
          [
            ['5', 'day'],
            ['0.50', 'payment'],
          ],
          ['0.1', 'day'],
        ),
      },
    },
    {
      id: 'research',
      name: 'Research',
      about: `${money('1')} a day, ${money('0.05')} each`,
      draft: {
        ...blank,
        limits: withFees(
          [
            ['1', 'day'],
            ['0.05', 'payment'],
          ],
          ['0.1', 'day'],
        ),
      },
    },
    {
      id: 'payroll',
      name: 'Payroll',
      about: `Listed payees only, ${money('5,000')} per 30 days, asks above ${money('1,000')}`,
      draft: {
        ...blank,
        limits: withFees([['5,000', '30days']], ['1', '30days']),
        payees: 'listed',
        askAbove: [{ id: 1, amount: '1,000', unit: hasDollars ? 'dollars' : 'algo', assetId: '' }],
        end: '365',
      },
    },
    { id: 'custom', name: 'Custom', about: 'Your own limits', draft: blank },
  ]
}

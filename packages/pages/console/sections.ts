/** The navigation: six sections, each with one or several views. */
import type { Route } from './route.js'

/** A view in the navigation. */
export type SectionView = { readonly name: string; readonly route: Route }

/** A section. Its link leads to its first view. */
export type Section = { readonly name: string; readonly views: readonly SectionView[] }

const blank = { address: undefined, assetId: undefined }

/** In the order of the navigation. */
export const sections: readonly Section[] = [
  { name: 'Overview', views: [{ name: 'Overview', route: { view: 'overview' } }] },
  { name: 'Wallets', views: [{ name: 'Wallets', route: { view: 'wallets', walletId: undefined } }] },
  {
    name: 'Pay',
    views: [
      { name: 'Send', route: { view: 'send', ...blank } },
      { name: 'Receive', route: { view: 'receive', ...blank } },
      { name: 'Sign', route: { view: 'sign' } },
      { name: 'Address book', route: { view: 'addresses' } },
    ],
  },
  {
    name: 'Agents',
    views: [
      { name: 'All agents', route: { view: 'agents' } },
      { name: 'Approvals', route: { view: 'approvals' } },
    ],
  },
  {
    name: 'Activity',
    views: [
      { name: 'Payments', route: { view: 'payments' } },
      { name: 'Spending', route: { view: 'spending' } },
      { name: 'Audit log', route: { view: 'activity' } },
    ],
  },
  { name: 'Settings', views: [{ name: 'Settings', route: { view: 'settings' } }] },
]

/** Views that are reached from another one, and have no entry of their own. */
const parents: { readonly [view in Route['view']]?: Route['view'] } = {
  'new-agent': 'agents',
  'opt-in': 'receive',
}

/** Returns the section of a view. */
export function sectionOf(route: Route): Section {
  return sections.find(({ views }) => views.some((one) => isUnder(route, one))) ?? sections[0]!
}

/** Whether a view is this one, or is reached from it. */
export function isUnder({ view }: Route, { route }: SectionView): boolean {
  return route.view === (parents[view] ?? view)
}

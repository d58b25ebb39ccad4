/** Views that are not part of the first screen, in separate files. */
import { lazyView } from '../components/Lazy.js'
import { SearchDialog } from '../components/Search.js'
import { BackupDialog } from './lazyBackup.js'
import { CreatingWallet, EarlierPayments, OverviewAgents, OverviewApprovals } from './lazyOverview.js'

export const WalletsView = lazyView(async () => (await import('./WalletsView.js')).WalletsView)
export const SendView = lazyView(async () => (await import('./SendView.js')).SendView)
export const ReceiveView = lazyView(async () => (await import('./ReceiveView.js')).ReceiveView)
export const OptInView = lazyView(async () => (await import('./OptInView.js')).OptInView)
export const SignView = lazyView(async () => (await import('./SignView.js')).SignView)
export const PaymentsView = lazyView(async () => (await import('./PaymentsView.js')).PaymentsView)
export const AddressBookView = lazyView(async () => (await import('./AddressBookView.js')).AddressBookView)
export const SettingsView = lazyView(async () => (await import('./SettingsView.js')).SettingsView)
export const SpendingView = lazyView(async () => (await import('./SpendingView.js')).SpendingView)
export const AgentsView = lazyView(async () => (await import('./AgentsView.js')).AgentsView)
export const AgentView = lazyView(async () => (await import('./AgentView.js')).AgentView)
export const NewAgentView = lazyView(async () => (await import('./NewAgentView.js')).NewAgentView)
export const ApprovalsView = lazyView(async () => (await import('./ApprovalsView.js')).ApprovalsView)
export const ActivityView = lazyView(async () => (await import('./ActivityView.js')).ActivityView)

/** In the order of likely need. */
const all = [
  OverviewApprovals,
  OverviewAgents,
  EarlierPayments,
  CreatingWallet,
  BackupDialog,
  WalletsView,
  SendView,
  ReceiveView,
  PaymentsView,
  ApprovalsView,
  SignView,
  AgentsView,
  AgentView,
  NewAgentView,
  ActivityView,
  OptInView,
  AddressBookView,
  SpendingView,
  SettingsView,
  SearchDialog,
]

/** Loads all files, one after the other, so that they are available later even if the daemon is updated in between. */
export async function preloadAll(): Promise<void> {
  for (const { preload } of all) await preload()
}

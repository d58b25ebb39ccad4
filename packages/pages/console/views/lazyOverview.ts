/** Parts and dialogs of the first screen in separate files, for it and the views that show them too. */
import { lazyDialog, lazyPart } from '../components/Lazy.js'

/** The parts about agents need the rules of agents to be loaded. */
export const OverviewApprovals = lazyPart(async () => (await import('./OverviewAgents.js')).OverviewApprovals)
export const OverviewAgents = lazyPart(async () => (await import('./OverviewAgents.js')).OverviewAgents)

/** The dialog that creates a wallet. */
export const CreatingWallet = lazyDialog(async () => (await import('./CreatingWallet.js')).CreatingWallet)

/** Loaded after the first screen, because it needs the audit log. */
export const EarlierPayments = lazyPart(async () => (await import('./EarlierPayments.js')).EarlierPayments)

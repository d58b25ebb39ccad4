/** The parts of the first screen that are about agents, which need the rules of agents to be loaded. */
import { lazyPart } from '../components/Lazy.js'

export const OverviewApprovals = lazyPart(async () => (await import('./OverviewAgents.js')).OverviewApprovals)
export const OverviewAgents = lazyPart(async () => (await import('./OverviewAgents.js')).OverviewAgents)

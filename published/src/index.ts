export { avmFamily, avmVersions } from './avmFamily.js'
export { bazaarVersion, catalogueClient, describedSeller, extractDiscoveryInfo } from './bazaar.js'
export {
  type Buys,
  type Family,
  familyOf,
  type Modules,
  type PublishedFacilitator,
  report,
  type Sells,
  type Setting,
} from './Family.js'
export {
  buyerHooks,
  facilitatorHooks,
  type HookOf,
  type HookScenario,
  runBuyer,
  runFacilitator,
  runSeller,
  sellerHooks,
} from './hookSequences.js'
export { newest, newestModules, newestVersions, setSettlementOverrides } from './newest.js'

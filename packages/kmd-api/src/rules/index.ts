export { errors } from '../errors.js'
export { bounds, defaults } from './bounds.js'
export {
  assetUnit,
  type DescribeOptions,
  type Dollars,
  describeLimit,
  describeQuantity,
  describeRules,
  formatAmount,
  formatLimit,
  formatQuantity,
  formatUnits,
  type RuleGroup,
  ruleWarnings,
  unitOf,
} from './describeRules.js'
export {
  type AskRules,
  boundsSum,
  completeRules,
  declaredDollars,
  dollarOf,
  isSameLimit,
  type Limit,
  type NetworkAmount,
  type NetworkItem,
  type NewRules,
  type PayeeRules,
  parseId,
  publicDollar,
  quantityOf,
  type ReadLimit,
  type ReadRules,
  type Rules,
  RulesError,
  toLimit,
  toRules,
} from './Rules.js'
export type { Period } from './SpendLimit.js'
export * as SpendLimit from './SpendLimit.js'
export { validateExpiry, validateKeys, validateRules } from './validateRules.js'
export {
  parseLimit,
  parseRules,
  type WireItem,
  type WireLimit,
  type WireRules,
  writeLimit,
  writeRules,
} from './WireRules.js'

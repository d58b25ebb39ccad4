export { errors } from '../errors.js'
export { bounds, defaults } from './bounds.js'
export {
  type AskRules,
  assetUnit,
  boundsSum,
  completeRules,
  type DescribeOptions,
  type Dollars,
  declaredDollars,
  describeLimit,
  describeQuantity,
  describeRules,
  dollarOf,
  formatAmount,
  formatLimit,
  formatQuantity,
  formatUnits,
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
  type RuleGroup,
  type Rules,
  RulesError,
  ruleWarnings,
  toLimit,
  toRules,
  unitOf,
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

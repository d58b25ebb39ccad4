/** Parameters of consensus version 42 of Algorand. */
export const version = 'https://github.com/algorandfoundation/specs/tree/268b63433a907455d439995bf916f6b296018f4f'

export const minFeeMicroAlgos = 1_000n
export const minBalanceMicroAlgos = 100_000n
/** Added to the minimum balance for every asset an account holds, including those it created. */
export const minBalancePerAssetMicroAlgos = 100_000n
/** In microAlgos. An application that was created or opted in to, and an extra page, count the same. */
export const minBalanceOfApps = {
  perApp: 100_000,
  perValue: 25_000,
  perInteger: 3_500,
  perByteString: 25_000,
  perBox: 2_500,
  perBoxByte: 400,
} as const

export const maxGroupSize = 16
export const maxValidityRounds = 1_000n
export const maxNoteBytes = 4_096
/** Notes up to this size are free; each further byte costs a ten-thousandth of the minimum fee. */
export const freeNoteBytes = 1_024
/** The arguments of an application call, its programs, and for each member of a group the program of a logic signature. */
export const freeArgumentBytes = 2_048
export const freeProgramBytes = 8_192
export const freeLogicBytes = 1_000
/** The arguments of logic signatures, for each transaction of a group. */
export const maxLogicArgumentBytes = 1_000

export const maxAssetNameBytes = 32
export const maxAssetUnitNameBytes = 8
export const maxAssetUrlBytes = 96
export const maxAssetDecimals = 19

export const applicationCall = {
  maxArguments: 16,
  maxArgumentBytes: 4_096,
  maxArgumentsBytes: 16_384,
  /** In each of the four lists, and in all together. */
  maxReferences: 8,
  maxAccess: 16,
  maxBoxNameBytes: 64,
  pageBytes: 2_048,
  maxExtraPages: 7,
  maxLocalValues: 16n,
  maxGlobalValues: 64n,
} as const

export const maxKeyRegistrationRounds = 16_777_215n
export const balanceLookbackRounds = 320n
export const incentiveFeeMicroAlgos = 2_000_000n

export const maxBlockTransactionBytes = 5 * 1024 * 1024
export const maxTimestampStepSeconds = 25n
/** The initial value of the transaction counter. The id of an asset is the counter at its creation. */
export const transactionCounterAtGenesis = 1_000n
export const maxUint64 = 2n ** 64n - 1n

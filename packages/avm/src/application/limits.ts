/** Limits of application calls in consensus version 42. */

/** The budget that each application call adds to the pool, and the most that a clear state program can spend. */
export const callBudget = 700
/** Inner transactions of a top-level group. */
export const maxInnerTransactions = 256
export const maxGroupSize = 16
/** Accounts, assets, applications and boxes that a call can name. */
export const maxReferences = 8
/** Entries of an access list. */
export const maxAccessReferences = 16
/** Nested application calls below a top-level call. */
export const maxCallDepth = 8
/** The oldest programs that other applications can call. */
export const minInnerVersion = 4

export const maxLogCalls = 32
export const maxLogBytes = 1024

export const maxKeyBytes = 64
export const maxValueBytes = 128
export const maxKeyAndValueBytes = 128

export const maxBoxNameBytes = 64
export const maxBoxBytes = 32_768
/** Bytes of boxes that a group can read, and write, for each of its box references. */
export const boxBytesPerReference = 2048

/** The bytes of both programs of an application, for each of its pages. */
export const programBytesPerPage = 2048
/** Programs of an application up to this size need no fee and no box references. */
export const freeProgramBytes = 8192
export const freeNoteBytes = 1024
export const freeArgumentBytes = 2048

/** Ids up to this one were never assigned. Programs that look one up confuse ids and indexes. */
export const lastReservedId = 255n

/** Versions that changed the availability of resources. */
export const directReferenceVersion = 4
export const createdResourcesVersion = 6
export const appAccountsVersion = 7
export const sharedResourcesVersion = 9

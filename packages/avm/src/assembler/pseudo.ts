/** Names of the assembly language that are no instructions of the machine. */

/** Instructions that exist in the source only. */
export const pseudoInstructions: ReadonlySet<string> = new Set(['int', 'byte', 'addr', 'method'])

/** Names that stand for several instructions, by the number of immediates. */
export const families: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map([
  [
    'txn',
    new Map([
      [1, 'txn'],
      [2, 'txna'],
    ]),
  ],
  [
    'gtxn',
    new Map([
      [2, 'gtxn'],
      [3, 'gtxna'],
    ]),
  ],
  [
    'gtxns',
    new Map([
      [1, 'gtxns'],
      [2, 'gtxnsa'],
    ]),
  ],
  [
    'extract',
    new Map([
      [0, 'extract3'],
      [2, 'extract'],
    ]),
  ],
  [
    'replace',
    new Map([
      [0, 'replace3'],
      [1, 'replace2'],
    ]),
  ],
])

/** Names of other instructions that dispatch to another instruction if they have more immediates. */
export const dispatches: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map([
  [
    'itxn',
    new Map([
      [1, 'itxn'],
      [2, 'itxna'],
    ]),
  ],
  [
    'gitxn',
    new Map([
      [2, 'gitxn'],
      [3, 'gitxna'],
    ]),
  ],
])

/** Numbers with a name, for `int`. The types of transactions have two names. */
export const namedIntegers: ReadonlyMap<string, bigint> = new Map(
  [
    ['unknown', 'pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl', 'stpf', 'hb'],
    ['unknown', 'Payment', 'KeyRegistration', 'AssetConfig', 'AssetTransfer', 'AssetFreeze', 'ApplicationCall'],
    ['NoOp', 'OptIn', 'CloseOut', 'ClearState', 'UpdateApplication', 'DeleteApplication'],
  ].flatMap((names) => names.map((name, value) => [name, BigInt(value)] as const)),
)

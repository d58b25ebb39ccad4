/** Fields of inner transactions. */
import { hexOf } from './fittingArguments.test.helper.js'
import type { Random } from './Random.test.helper.js'

type InnerOptions = {
  readonly random: Random
  readonly names: {
    readonly apps: readonly bigint[]
    readonly assets: readonly bigint[]
    readonly accounts: readonly Uint8Array[]
  }
  readonly version: number
}

/** Lines that set random fields of an inner transaction of a type. */
export function randomInnerFields(type: string, { random, names, version }: InnerOptions): string[] {
  const { accounts, assets, apps } = names
  const address = (): string =>
    random.pick(['txn Sender', 'global CurrentApplicationAddress', `byte ${hexOf(random.pick(accounts))}`])
  const amount = (): string => `int ${random.below(3000)}`
  const asset = (): string => `int ${random.pick(assets)}`
  const byType: { [type: string]: [field: string, value: string, probability: number][] } = {
    pay: [
      ['Receiver', address(), 0.8],
      ['Amount', amount(), 0.8],
      ['CloseRemainderTo', address(), 0.05],
    ],
    axfer: [
      ['XferAsset', asset(), 0.95],
      ['AssetAmount', amount(), 0.5],
      ['AssetReceiver', address(), 0.9],
      ['AssetSender', address(), 0.05],
      ['AssetCloseTo', address(), 0.1],
    ],
    acfg: [
      ['ConfigAsset', asset(), 0.2],
      ['ConfigAssetTotal', amount(), 0.8],
      ['ConfigAssetDecimals', `int ${random.below(21)}`, 0.4],
      ['ConfigAssetDefaultFrozen', `int ${random.below(2)}`, 0.2],
      ['ConfigAssetUnitName', 'byte "UNIT"', 0.3],
      ['ConfigAssetName', 'byte "name"', 0.3],
      ['ConfigAssetManager', address(), 0.5],
      ['ConfigAssetFreeze', address(), 0.5],
      ['ConfigAssetClawback', address(), 0.5],
    ],
    afrz: [
      ['FreezeAsset', asset(), 0.95],
      ['FreezeAssetAccount', address(), 0.9],
      ['FreezeAssetFrozen', `int ${random.below(2)}`, 0.7],
    ],
    appl: random.chance(0.4)
      ? [
          ['ApprovalProgram', `byte ${random.pick(['0x0a8101', '0x068101', '0x0a8100', '0x0d8101', '0x0a'])}`, 1],
          ['ClearStateProgram', `byte ${random.pick(['0x0a8101', '0x0a8101', '0x0b8101'])}`, 1],
          ['GlobalNumUint', `int ${random.below(4)}`, 0.4],
          ['LocalNumByteSlice', `int ${random.below(4)}`, 0.4],
          ['ExtraProgramPages', `int ${random.below(4)}`, 0.2],
        ]
      : [
          ['ApplicationID', `int ${random.pick(apps)}`, 0.95],
          ['OnCompletion', `int ${random.below(6)}`, 0.4],
          ['ApplicationArgs', `byte ${hexOf(random.bytes(random.below(9)))}`, 0.5],
          ['Accounts', address(), 0.3],
          ['Assets', asset(), 0.3],
          ['Applications', `int ${random.pick(apps)}`, 0.3],
        ],
    keyreg: [['Nonparticipation', 'int 1', 0.2]],
  }
  const fields = [...byType[type]!]
  fields.push(['Fee', `int ${random.pick([0, 0, 1000, 5000])}`, 0.4])
  fields.push(['Sender', address(), 0.1])
  if (version >= 6) fields.push(['Note', `byte ${hexOf(random.bytes(4))}`, 0.2], ['RekeyTo', address(), 0.02])
  return fields
    .filter(([, , probability]) => random.chance(probability))
    .flatMap(([field, value]) => [value, `itxn_field ${field}`])
}

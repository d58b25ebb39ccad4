/** Resources that programs used although the group does not name them, in the form of the simulation's response. */
import type { UnnamedSet } from '@latchkey/avm'
import * as MapKey from '../ledger/MapKey.js'
import type { Value } from './ResponseValue.js'

/** Empty members are omitted, and so is the whole if all are empty. */
export function unnamedValue(set: UnnamedSet | undefined): Value | undefined {
  if (set === undefined || set.isEmpty) return undefined
  const { accounts, assets, apps, holdings, locals, boxes, extraBoxReferences } = set
  return {
    accounts: listed([...accounts].map(MapKey.address)),
    'app-locals': listed(
      [...locals.values()].map(({ address, id }) => ({ account: MapKey.address(address), app: id })),
    ),
    apps: listed([...apps]),
    'asset-holdings': listed(
      [...holdings.values()].map(({ address, id }) => ({ account: MapKey.address(address), asset: id })),
    ),
    assets: listed([...assets]),
    boxes: listed(boxes.map(({ appId, name }) => ({ app: appId, name: MapKey.bytes(name) }))),
    'extra-box-refs': extraBoxReferences || undefined,
  }
}

function listed(values: readonly Value[]): Value | undefined {
  return values.length === 0 ? undefined : values
}

import { BoundedMap, Bytes, Hash } from '@latchkey/algorand'
import { encodeUint64 } from '../evaluator/Value.js'
import * as ByteKey from './ByteKey.js'

const prefix = Bytes.fromUtf8('appID')
const known = new BoundedMap<bigint, ByteKey.ByteKey>(1024)

/** Returns the address of the account that belongs to an application. */
export function appAddress(appId: bigint): ByteKey.ByteKey {
  let address = known.get(appId)
  if (address === undefined) {
    address = ByteKey.of(Hash.sha512_256(Bytes.concat([prefix, encodeUint64(appId)])))
    known.set(appId, address)
  }
  return address
}

/** Operations on keys and the master derivation key. */
import { Address, Bytes, Ed25519 } from '@latchkey/algorand'
import { byHandle, byHandleAndAddress, newAddress } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import { endAgentsOfKey } from './endAgents.js'
import type { Implementations } from './Implementation.js'
import { addressesOutput, decodeAddress } from './members.js'
import * as OwnAgent from './ownAgent.js'

export const keyOperations = {
  ExportMasterKey: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return context.throttle.withPassword(wallet, input.wallet_password, () => ({
        master_derivation_key: wallet.masterDerivationKey(),
      }))
    },
    record: { subject: byHandle },
  },
  ImportKey: {
    run: async ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      try {
        const imported = await retryWhileLocked(() => wallet.importKey(seedOf(input.private_key)))
        return { address: Address.encode(imported) }
      } finally {
        Secret.wipe(input.private_key)
      }
    },
    record: { subject: byHandle, result: newAddress },
  },
  ExportKey: {
    run: (context, input) => {
      const publicKey = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return context.throttle.withPassword(wallet, input.wallet_password, () => ({
        private_key: wallet.exportKey(publicKey),
      }))
    },
    record: { subject: byHandleAndAddress },
  },
  GenerateKey: {
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      if (input.display_mnemonic) throw new KmdError('cannot_display_mnemonic')
      return retryWhileLocked(() => ({ address: Address.encode(wallet.generateKey()) }))
    },
    record: { subject: byHandle, result: newAddress },
  },
  DeleteKey: {
    run: async (context, input) => {
      const publicKey = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      await context.throttle.withPassword(wallet, input.wallet_password, () => {})
      await endAgentsOfKey(context, wallet.key, input.address, () =>
        retryWhileLocked(() => {
          wallet.requireSamePassword()
          wallet.deleteKey(publicKey)
        }),
      )
      return {}
    },
    record: { subject: byHandleAndAddress },
  },
  ListKeysInWallet: {
    reusesOutput: true,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => addressesOutput(wallet.addresses()))
    },
    runAsAgent: (context, input, caller) => OwnAgent.listKeys(context, caller, input.wallet_handle_token),
  },
} satisfies Partial<Implementations>

/**
 * Rejects malformed keys. The reference pads, truncates or repairs them, but the result would be a different key. A
 * public half of zeros is not checked: `goal account import` has only a seed, and sends it this way.
 */
function seedOf(key: Buffer): Buffer {
  if (key.length !== Ed25519.seedLength && key.length !== Ed25519.secretKeyLength) {
    throw new KmdError('bad_private_key_length')
  }
  const seed = Buffer.from(key.subarray(0, Ed25519.seedLength))
  const publicHalf = key.subarray(Ed25519.seedLength)
  if (!Bytes.isZero(publicHalf) && !publicHalf.equals(Ed25519.publicKey(seed))) {
    Secret.wipe(seed)
    throw new KmdError('bad_private_key_halves')
  }
  return seed
}

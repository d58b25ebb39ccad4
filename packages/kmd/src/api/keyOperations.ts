/** Operations on keys and the master derivation key. */
import { Address, Ed25519 } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import * as AgentWallet from './agentWallet.js'
import { decodeAddress } from './decodeAddress.js'
import { endAgentsOfKey } from './endAgents.js'
import {
  address,
  addressesMember,
  addressMember,
  bool,
  define,
  handleToken,
  password,
  privateKey,
} from './Operation.js'
import { isZero } from './signing.js'
import { addressesOutput } from './walletMembers.js'
import { withPassword } from './withPassword.js'

export const keyOperations = [
  define({
    id: 'ExportMasterKey',
    method: 'POST',
    path: '/v1/master-key/export',
    about: 'Returns the master derivation key: a backup of every generated key, but not of imported ones.',
    request: [handleToken, password],
    response: [{ name: 'master_derivation_key', shape: { type: 'key', name: 'MasterDerivationKey' } }],
    responseName: 'APIV1POSTMasterKeyExportResponse',
    walletFailure: 400,
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return withPassword(context, wallet, input.wallet_password, () => ({
        master_derivation_key: wallet.masterDerivationKey(),
      }))
    },
  }),
  define({
    id: 'ImportKey',
    method: 'POST',
    path: '/v1/key/import',
    once: true,
    about: 'Adds a key made elsewhere. The master derivation key does not back it up.',
    request: [
      handleToken,
      {
        name: 'private_key',
        kind: privateKey,
        about: 'Seed and public key, 64 bytes; or the 32 bytes of the seed, alone or followed by 32 zeros',
      },
    ],
    response: [addressMember],
    responseName: 'APIV1POSTKeyImportResponse',
    errors: ['bad_private_key_length', 'bad_private_key_halves', 'key_exists'],
    walletFailure: 400,
    run: async ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      try {
        const imported = await retryWhileLocked(() => wallet.importKey(seedOf(input.private_key)))
        return { address: Address.encode(imported) }
      } finally {
        Secret.wipe(input.private_key)
      }
    },
  }),
  define({
    id: 'ExportKey',
    method: 'POST',
    path: '/v1/key/export',
    about: 'Returns the private key of an address.',
    request: [handleToken, address, password],
    response: [{ name: 'private_key', shape: { type: 'key', name: 'PrivateKey' } }],
    responseName: 'APIV1POSTKeyExportResponse',
    errors: ['key_not_found', 'key_mismatch'],
    walletFailure: 400,
    run: (context, input) => {
      const publicKey = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return withPassword(context, wallet, input.wallet_password, () => ({ private_key: wallet.exportKey(publicKey) }))
    },
  }),
  define({
    id: 'GenerateKey',
    method: 'POST',
    path: '/v1/key',
    once: true,
    about: 'Adds the next key of the sequence that the master derivation key determines.',
    request: [handleToken, { name: 'display_mnemonic', kind: bool, about: 'Must be false' }],
    response: [addressMember],
    responseName: 'APIV1POSTKeyResponse',
    errors: ['cannot_display_mnemonic', 'too_many_keys'],
    walletFailure: 500,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      if (input.display_mnemonic) throw new KmdError('cannot_display_mnemonic')
      return retryWhileLocked(() => ({ address: Address.encode(wallet.generateKey()) }))
    },
  }),
  define({
    id: 'DeleteKey',
    method: 'DELETE',
    path: '/v1/key',
    about: 'Deletes a key. Deleting one that is not there succeeds.',
    request: [handleToken, address, password],
    response: [],
    responseName: 'APIV1DELETEKeyResponse',
    walletFailure: 400,
    run: async (context, input) => {
      const publicKey = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      await withPassword(context, wallet, input.wallet_password, () => {})
      await endAgentsOfKey(context, wallet.key, input.address, () =>
        retryWhileLocked(() => {
          wallet.requireSamePassword()
          wallet.deleteKey(publicKey)
        }),
      )
      return {}
    },
  }),
  define({
    id: 'ListKeysInWallet',
    method: 'POST',
    path: '/v1/key/list',
    about: 'Lists the addresses of all keys in the wallet.',
    request: [handleToken],
    response: [addressesMember],
    responseName: 'APIV1POSTKeyListResponse',
    walletFailure: 500,
    reusesOutput: true,
    run: (context, input, caller) => {
      if (caller.type === 'agent') return AgentWallet.listKeys(context, caller, input.wallet_handle_token)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => addressesOutput(wallet.addresses()))
    },
  }),
]

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
  if (!isZero(publicHalf) && !publicHalf.equals(Ed25519.publicKey(seed))) {
    Secret.wipe(seed)
    throw new KmdError('bad_private_key_halves')
  }
  return seed
}

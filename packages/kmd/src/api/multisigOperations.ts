/** Operations on multisig preimages, which are not secret: the keys and threshold of a multisig address. */
import { Address } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import { decodeAddress } from './decodeAddress.js'
import {
  address,
  addressesMember,
  addressMember,
  define,
  handleToken,
  password,
  publicKey,
  publicKeyShape,
  uint8,
} from './Operation.js'
import { translateMultisigError } from './signing.js'
import { addressesOutput } from './walletMembers.js'
import { withPassword } from './withPassword.js'

/** The reference stores preimages of any size, but no node accepts a signature with more than 255 members. */
const maxPreimageKeys = 1_000

export const multisigOperations = [
  define({
    id: 'ListMultisig',
    method: 'POST',
    path: '/v1/multisig/list',
    about: 'Lists the multisig addresses whose preimages the wallet holds.',
    request: [handleToken],
    response: [addressesMember],
    responseName: 'APIV1POSTMultisigListResponse',
    walletFailure: 500,
    reusesOutput: true,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => addressesOutput(wallet.multisigAddresses()))
    },
  }),
  define({
    id: 'ImportMultisig',
    method: 'POST',
    path: '/v1/multisig/import',
    once: true,
    about: 'Stores the preimage of a multisig address.',
    request: [
      handleToken,
      { name: 'multisig_version', kind: uint8, about: 'Always 1' },
      { name: 'threshold', kind: uint8, about: 'How many signatures the address asks for' },
      {
        name: 'pks',
        kind: { type: 'list', of: publicKey, max: maxPreimageKeys, tooLong: 'multisig_too_large' },
        about: 'The public keys of the members; their order counts',
      },
    ],
    response: [addressMember],
    responseName: 'APIV1POSTMultisigImportResponse',
    errors: ['bad_public_key_length', 'multisig_version', 'multisig_threshold', 'multisig_too_large', 'key_exists'],
    walletFailure: 400,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      if (input.pks.some((key) => key.length !== 32)) throw new KmdError('bad_public_key_length')
      const preimage = { version: input.multisig_version, threshold: input.threshold, publicKeys: input.pks }
      return retryWhileLocked(() => ({
        address: Address.encode(translateMultisigError(() => wallet.importMultisig(preimage))),
      }))
    },
  }),
  define({
    id: 'ExportMultisig',
    method: 'POST',
    path: '/v1/multisig/export',
    about: 'Returns the preimage of a multisig address.',
    request: [
      handleToken,
      address,
      { ...password, ignored: true, about: 'Ignored, since nothing secret is returned: the Go SDK sends it' },
    ],
    response: [
      { name: 'multisig_version', shape: { type: 'uint', format: 'uint8' } },
      { name: 'pks', shape: { type: 'list', of: publicKeyShape } },
      { name: 'threshold', shape: { type: 'uint', format: 'uint8' } },
    ],
    responseName: 'APIV1POSTMultisigExportResponse',
    errors: ['multisig_not_found'],
    walletFailure: 400,
    run: ({ handles }, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => {
        const { version, publicKeys, threshold } = translateMultisigError(() => wallet.multisig(multisigAddress))
        return { multisig_version: version, pks: publicKeys, threshold }
      })
    },
  }),
  define({
    id: 'DeleteMultisig',
    method: 'DELETE',
    path: '/v1/multisig',
    about: 'Deletes the preimage of a multisig address. Deleting one that is not there succeeds.',
    request: [handleToken, address, password],
    response: [],
    responseName: 'APIV1DELETEMultisigResponse',
    walletFailure: 400,
    run: (context, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return withPassword(context, wallet, input.wallet_password, () => {
        wallet.deleteMultisig(multisigAddress)
        return {}
      })
    },
  }),
]

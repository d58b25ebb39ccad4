/** Operations on multisig preimages, which are not secret: the keys and threshold of a multisig address. */
import { define, noChanges, onlyTransactions } from '../Description.js'
import {
  address,
  addressesMember,
  addressMember,
  handleToken,
  password,
  publicKey,
  publicKeyShape,
  uint8,
} from '../members.js'

/** The reference stores preimages of any size, but no node accepts a signature with more than 255 members. */
const maxPreimageKeys = 1_000

/** Operations on multisig accounts. */
export const multisigOperations = {
  ListMultisig: define({
    method: 'POST',
    path: '/v1/multisig/list',
    about: 'Lists the multisig addresses whose preimages are in the wallet.',
    request: [handleToken],
    response: [addressesMember],
    responseName: 'APIV1POSTMultisigListResponse',
    walletFailure: 500,
    access: { console: 'allowed', agent: onlyTransactions },
    audit: 'none',
  }),
  ImportMultisig: define({
    method: 'POST',
    path: '/v1/multisig/import',
    once: true,
    about: 'Stores the preimage of a multisig address.',
    request: [
      handleToken,
      { name: 'multisig_version', kind: uint8, about: 'Always 1' },
      { name: 'threshold', kind: uint8, about: 'Number of signatures that the address requires' },
      {
        name: 'pks',
        kind: { type: 'list', of: publicKey, max: maxPreimageKeys, tooLong: 'multisig_too_large' },
        about: 'The public keys of the members; their order matters',
      },
    ],
    response: [addressMember],
    responseName: 'APIV1POSTMultisigImportResponse',
    errors: ['bad_public_key_length', 'multisig_version', 'multisig_threshold', 'multisig_too_large', 'key_exists'],
    walletFailure: 400,
    access: { console: 'allowed', agent: noChanges },
    audit: { event: 'multisig_imported', required: 'all', isChange: true },
  }),
  ExportMultisig: define({
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
    access: { console: 'allowed', agent: onlyTransactions },
    audit: { event: 'multisig_exported', required: 'all' },
  }),
  DeleteMultisig: define({
    method: 'DELETE',
    path: '/v1/multisig',
    about: 'Deletes the preimage of a multisig address. Deleting a missing preimage succeeds.',
    request: [handleToken, address, password],
    response: [],
    responseName: 'APIV1DELETEMultisigResponse',
    walletFailure: 400,
    access: { console: 'refused', agent: noChanges },
    audit: { event: 'multisig_deleted', required: 'always', isChange: true },
  }),
}

/** A multisig signature in a request, in the spelling of either wire. */
import type { Code } from '../apiErrors.js'
import { bytes64, publicKey, uint8 } from '../members.js'

/** Error codes of starting or continuing a multisig signature. */
export const multisigErrors = [
  'bad_public_key_length',
  'bad_signature_length',
  'key_not_found',
  'multisig_not_found',
  'multisig_version',
  'multisig_threshold',
  'multisig_not_member',
  'multisig_wrong_preimage',
  'multisig_not_signer',
  'multisig_duplicate',
  'multisig_too_large',
] as const satisfies readonly Code[]

/** No node accepts a signature with more members. */
export const maxMultisigMembers = 255

const partialMultisigFields = [
  { name: 'v', wire: 'reference', kind: uint8, about: 'Always 1' },
  { name: 'thr', wire: 'reference', kind: uint8, about: 'Number of signatures that the address requires' },
  {
    name: 'subsig',
    wire: 'reference',
    about: 'One for each member, in order',
    kind: {
      type: 'list',
      max: maxMultisigMembers,
      tooLong: 'multisig_too_large',
      of: {
        type: 'object',
        fields: [
          { name: 'pk', kind: publicKey, about: 'The public key of the member' },
          { name: 's', kind: bytes64, about: 'The signature of the member, if it has signed' },
        ],
      },
    },
  },
  { name: 'Version', wire: 'documented', kind: uint8, about: 'Always 1' },
  { name: 'Threshold', wire: 'documented', kind: uint8, about: 'Number of signatures that the address requires' },
  {
    name: 'Subsigs',
    wire: 'documented',
    about: 'One for each member, in order',
    kind: {
      type: 'list',
      max: maxMultisigMembers,
      tooLong: 'multisig_too_large',
      of: {
        type: 'object',
        fields: [
          { name: 'Key', kind: publicKey, about: 'The public key of the member' },
          { name: 'Sig', kind: bytes64, about: 'The signature of the member, if it has signed' },
        ],
      },
    },
  },
] as const

export const partialMultisig = {
  name: 'partial_multisig',
  kind: { type: 'object', fields: partialMultisigFields },
  about: 'The multisig signature so far; absent to start one with the stored preimage',
} as const

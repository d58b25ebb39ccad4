import type { ErrorRegistry } from './LatchkeyError.js'

/** Every error code that functions of this package throw, with its meaning and what to do about it. */
export const errors = {
  invalid_address: {
    message: 'the text is not an Algorand address',
    hint: 'copy the whole address: 58 upper-case letters and digits',
  },
  invalid_digest: { message: 'a digest has the wrong number of bytes', hint: 'pass the 32 bytes of the digest' },
  invalid_encoding: {
    message: 'the bytes or the JSON could not be decoded',
    hint: 'pass the bytes as they were encoded, unchanged and complete',
  },
  invalid_genesis_hash: {
    message: 'the genesis hash has the wrong number of bytes',
    hint: 'pass the genesis hash of the node: 32 bytes, or their base64 form',
  },
  invalid_group_size: {
    message: 'a group has too many transactions or none',
    hint: 'put 1 to 16 transactions in a group',
  },
  invalid_key_index: {
    message: 'the index of a derived key is out of range',
    hint: 'pass an integer between 0 and 2^63 - 1',
  },
  invalid_key_length: {
    message: 'a key, seed or signature has the wrong number of bytes',
    hint: 'pass 32 bytes for a seed or public key, 64 for a secret key or signature',
  },
  invalid_mnemonic: {
    message: 'the text is not a mnemonic of 25 words with a valid checksum',
    hint: 'check the spelling and the order of the words',
  },
  invalid_offer: {
    message: 'the signed offer is not valid',
    hint: 'pass the whole text as the seller signed it; if it was changed, ask the seller for it again',
  },
  invalid_receipt: {
    message: 'the receipt is not valid',
    hint: 'pass the whole text as the seller signed it; if it was changed, ask the seller for it again',
  },
  invalid_value: {
    message: 'a value cannot be encoded',
    hint: 'check the field against its type and limits',
  },
  missing_field: { message: 'a required field is missing', hint: 'set the field and encode again' },
  multisig_duplicate: {
    message: 'two different signatures of the same member were combined',
    hint: 'sign again with the member whose signatures differ',
  },
  multisig_invalid_key: {
    message: 'a key or signature of a multisig has the wrong length',
    hint: 'pass 32-byte public keys and 64-byte signatures',
  },
  multisig_invalid_threshold: {
    message: 'the threshold of a multisig is out of range',
    hint: 'use a threshold between 1 and the number of keys, at most 255',
  },
  multisig_key_missing: {
    message: 'the key is not a member of the multisig',
    hint: 'sign with a key that the multisig lists',
  },
  multisig_mismatch: {
    message: 'the signatures belong to different multisig accounts',
    hint: 'merge only signatures with the same version, threshold and keys',
  },
  multisig_too_few: { message: 'there is nothing to merge', hint: 'pass at least two signatures' },
  multisig_unknown_version: { message: 'the version of a multisig is unknown', hint: 'use version 1' },
  target_too_small: {
    message: 'the target is too small for the encoded data',
    hint: 'pass a larger target',
  },
  unknown_field: {
    message: 'a field is unknown',
    hint: 'check the spelling, and that this version supports the field',
  },
  unknown_network: {
    message: 'the text is not an Algorand network',
    hint: 'use mainnet, testnet, betanet, or a CAIP-2 id such as algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
  },
} as const satisfies ErrorRegistry

/** One of the codes of this package. */
export type ErrorCode = keyof typeof errors

/** Operations on multisig preimages, which are not secret: the keys and threshold of a multisig address. */
import { Address } from '@latchkey/algorand'
import { byHandle, byHandleAndAddress, newAddress } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { Implementations } from './Implementation.js'
import { translateMultisigError, withPassword } from './signing.js'
import { addressesOutput, decodeAddress } from './walletMembers.js'

export const multisigOperations = {
  ListMultisig: {
    reusesOutput: true,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => addressesOutput(wallet.multisigAddresses()))
    },
  },
  ImportMultisig: {
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      if (input.pks.some((key) => key.length !== 32)) throw new KmdError('bad_public_key_length')
      const preimage = { version: input.multisig_version, threshold: input.threshold, publicKeys: input.pks }
      return retryWhileLocked(() => ({
        address: Address.encode(translateMultisigError(() => wallet.importMultisig(preimage))),
      }))
    },
    record: { subject: byHandle, result: newAddress },
  },
  ExportMultisig: {
    run: ({ handles }, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => {
        const { version, publicKeys, threshold } = translateMultisigError(() => wallet.multisig(multisigAddress))
        return { multisig_version: version, pks: publicKeys, threshold }
      })
    },
    record: { subject: byHandleAndAddress },
  },
  DeleteMultisig: {
    run: (context, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return withPassword(context, wallet, input.wallet_password, () => {
        wallet.deleteMultisig(multisigAddress)
        return {}
      })
    },
    record: { subject: byHandleAndAddress },
  },
} satisfies Partial<Implementations>

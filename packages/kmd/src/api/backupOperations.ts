/**
 * The backup of a wallet that was created in the console. For other wallets, the command line has `latchkey wallet
 * backup`.
 */

import { byHandle } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import type { Implementations } from './Implementation.js'

export const backupOperations = {
  ListPendingBackups: {
    run: ({ pendingBackups }) => ({ wallet_ids: pendingBackups.list().map((key) => Buffer.from(key, 'latin1')) }),
  },
  BackUpWallet: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const isPending = (): boolean => context.pendingBackups.has(wallet.id.toString('latin1'))
      if (!isPending()) throw new KmdError('backup_not_pending')
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
        // The backup may have been finished while the password check was delayed.
        if (!isPending()) throw new KmdError('backup_not_pending')
        return { master_derivation_key: wallet.masterDerivationKey() }
      })
    },
    record: { subject: byHandle },
  },
  FinishWalletBackup: {
    run: async ({ pendingBackups, wallets }, input) => {
      const { key } = await wallets.find(input.wallet_id)
      pendingBackups.remove(key)
      return {}
    },
  },
} satisfies Partial<Implementations>

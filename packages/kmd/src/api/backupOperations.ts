/**
 * The backup of a wallet that was created in the console. For other wallets, the command line has `latchkey wallet
 * backup`.
 */
import { KmdError } from '../errors.js'
import { extraPrefix } from './latchkeyOperations.js'
import { ascii, define, handleToken, password } from './Operation.js'
import { withPassword } from './withPassword.js'

export const backupOperations = [
  define({
    id: 'ListPendingBackups',
    method: 'GET',
    path: `${extraPrefix}/wallet/backups`,
    about: 'Lists the wallets that were created in the console and are not backed up yet, by id.',
    request: [],
    response: [{ name: 'wallet_ids', shape: { type: 'list', of: { type: 'text' } } }],
    responseName: 'ListPendingBackupsResponse',
    errors: ['state_file_damaged'],
    run: ({ pendingBackups }) => ({ wallet_ids: pendingBackups.list().map((key) => Buffer.from(key, 'latin1')) }),
  }),
  define({
    id: 'BackUpWallet',
    method: 'POST',
    path: `${extraPrefix}/wallet/backup`,
    about:
      'Returns the master derivation key of a wallet that was created in the console and is not backed up yet. It restores every generated key, but no imported one and no multisig account.',
    request: [handleToken, password],
    response: [{ name: 'master_derivation_key', shape: { type: 'key', name: 'MasterDerivationKey' } }],
    responseName: 'BackUpWalletResponse',
    errors: ['backup_not_pending', 'state_file_damaged'],
    walletFailure: 400,
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const isPending = (): boolean => context.pendingBackups.has(wallet.id.toString('latin1'))
      if (!isPending()) throw new KmdError('backup_not_pending')
      return withPassword(context, wallet, input.wallet_password, () => {
        // The backup may have been finished while the password check was delayed.
        if (!isPending()) throw new KmdError('backup_not_pending')
        return { master_derivation_key: wallet.masterDerivationKey() }
      })
    },
  }),
  define({
    id: 'FinishWalletBackup',
    method: 'POST',
    path: `${extraPrefix}/wallet/backup/finish`,
    about: 'Notes that the owner has a backup of a wallet. The console cannot show its recovery mnemonic any more.',
    request: [{ name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' }],
    response: [],
    responseName: 'FinishWalletBackupResponse',
    errors: ['state_file_damaged', 'state_file_not_saved'],
    run: async ({ pendingBackups, wallets }, input) => {
      const { key } = await wallets.find(input.wallet_id)
      pendingBackups.remove(key)
      return {}
    },
  }),
]

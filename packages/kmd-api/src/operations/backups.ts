/** The backup of a wallet that was created in the console. */
import { consoles, define, extraPrefix, noSecrets } from '../Description.js'
import { ascii, handleToken, password } from '../members.js'

/** Operations on the backup of a wallet that was created in the console. */
export const backupOperations = {
  ListPendingBackups: define({
    method: 'GET',
    path: `${extraPrefix}/wallet/backups`,
    about: 'Lists the wallets that were created in the console and are not backed up yet, by id.',
    request: [],
    response: [{ name: 'wallet_ids', shape: { type: 'list', of: { type: 'text' } } }],
    responseName: 'ListPendingBackupsResponse',
    errors: ['state_file_damaged'],
    access: { console: 'allowed', agent: consoles },
    audit: 'none',
  }),
  BackUpWallet: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/backup`,
    about:
      'Returns the master derivation key of a wallet that was created in the console and is not backed up yet. This key restores every generated key, but no imported keys or multisig accounts.',
    request: [handleToken, password],
    response: [{ name: 'master_derivation_key', shape: { type: 'key', name: 'MasterDerivationKey' } }],
    responseName: 'BackUpWalletResponse',
    errors: ['backup_not_pending', 'state_file_damaged'],
    walletFailure: 400,
    access: { console: 'allowed', agent: noSecrets },
    audit: { event: 'master_key_exported', required: 'always' },
  }),
  FinishWalletBackup: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/backup/finish`,
    about: 'Marks a wallet as backed up. The console can then no longer show its recovery mnemonic.',
    request: [{ name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' }],
    response: [],
    responseName: 'FinishWalletBackupResponse',
    errors: ['state_file_damaged', 'state_file_not_saved'],
    access: { console: 'allowed', agent: consoles },
    audit: 'none',
  }),
}

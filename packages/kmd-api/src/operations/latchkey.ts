/** Operations that the Go daemon does not have, on separate paths so that its clients are not affected. */
import { noChanges, refused } from '../agentAccess.js'
import { define } from '../Description.js'
import { ascii, password, text } from '../members.js'
import { extraPrefix } from '../paths.js'
import type { Shape } from '../Schema.js'

const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const

const walletProblem = {
  type: 'object',
  name: 'WalletProblem',
  members: [
    { name: 'file', shape: { type: 'string' } },
    { name: 'problem', shape: { type: 'string' } },
  ],
} as const satisfies Shape

/** Operations on wallets and the daemon that the Go daemon does not have. */
export const extraOperations = {
  GetHealth: define({
    method: 'GET',
    path: `${extraPrefix}/health`,
    about:
      'Tells that the daemon runs and can read its wallets directory, and which files in it are refused or damaged.',
    request: [],
    response: [
      { name: 'status', shape: { type: 'string' } },
      { name: 'version', shape: { type: 'string' } },
      { name: 'uptime_seconds', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallets', shape: { type: 'uint', format: 'int64' } },
      { name: 'open_handles', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallet_problems', shape: { type: 'list', of: walletProblem }, about: 'The first 100' },
      {
        name: 'lost_log_lines',
        shape: { type: 'uint', format: 'int64' },
        about: 'Lines that kmd.log did not take since the start: the disk is full, or was',
      },
      {
        name: 'same_user_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about:
          'Names of agents that ran as the user of the daemon, or as root, since its start: no limit holds for them',
      },
      {
        name: 'suspended_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about:
          'Names of agents that sign nothing until the owner confirms them: the state database was rolled back or damaged',
      },
    ],
    responseName: 'HealthResponse',
    errors: ['wallets_directory'],
    access: { console: 'allowed', agent: refused('it names wallets and files of the owner') },
    audit: 'none',
  }),
  ChangeWalletPassword: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/password`,
    once: true,
    about: 'Changes the password of a wallet. Its open handles end.',
    request: [
      walletId,
      password,
      { name: 'new_wallet_password', kind: text, about: 'The new password; absent is the blank password' },
    ],
    response: [],
    responseName: 'ChangeWalletPasswordResponse',
    walletFailure: 400,
    access: { console: 'refused', agent: noChanges },
    audit: { event: 'password_changed', required: 'all', isChange: true },
  }),
  DeleteWallet: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/delete`,
    once: true,
    about: 'Takes a wallet out of the daemon. Its file is kept under another name: rename it back to undo this.',
    request: [walletId, password],
    response: [{ name: 'moved_to', shape: { type: 'string' } }],
    responseName: 'DeleteWalletResponse',
    walletFailure: 400,
    access: { console: 'refused', agent: noChanges },
    audit: { event: 'wallet_deleted', required: 'always', isChange: true },
  }),
}

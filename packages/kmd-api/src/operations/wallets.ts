/** Operations on wallets and their handles. */
import { allowed, define, noChanges } from '../Description.js'
import { ascii, bytes32, handleToken, name, password, wallet } from '../members.js'

const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const

const walletHandle = {
  name: 'wallet_handle',
  shape: {
    type: 'object',
    name: 'APIV1WalletHandle',
    members: [
      { name: 'expires_seconds', shape: { type: 'uint', format: 'int64' }, about: 'Seconds until the handle expires' },
      { name: 'wallet', shape: wallet },
    ],
  },
} as const

/** Operations on wallets and their handles. */
export const walletOperations = {
  ListWallets: define({
    method: 'GET',
    path: '/v1/wallets',
    about: 'Lists all wallets.',
    request: [],
    response: [{ name: 'wallets', shape: { type: 'list', of: wallet } }],
    responseName: 'APIV1GETWalletsResponse',
    errors: ['wallets_directory'],
    walletFailure: 500,
    access: { console: 'allowed', agent: allowed('its own wallet only') },
    audit: 'none',
  }),
  CreateWallet: define({
    method: 'POST',
    path: '/v1/wallet',
    once: true,
    about: 'Creates a wallet: a collection of keys under one password.',
    request: [
      { name: 'wallet_name', kind: name, about: 'At most 64 bytes; a blank name becomes the id of the wallet' },
      { name: 'wallet_driver_name', kind: ascii, about: 'The kind of wallet: sqlite' },
      password,
      {
        name: 'master_derivation_key',
        kind: bytes32,
        about: 'The key that generated keys derive from; absent or zero for a random one',
      },
    ],
    response: [{ name: 'wallet', shape: wallet }],
    responseName: 'APIV1POSTWalletResponse',
    errors: [
      'unknown_driver',
      'not_supported',
      'name_too_long',
      'name_taken',
      'bad_master_key_length',
      'bad_scrypt_parameters',
      'derivation_busy',
    ],
    walletFailure: 400,
    access: { console: 'allowed', agent: noChanges },
    audit: { event: 'wallet_created', required: 'all', isChange: true },
  }),
  InitWalletHandleToken: define({
    method: 'POST',
    path: '/v1/wallet/init',
    about: 'Unlocks a wallet and returns a handle for it. Handles expire; renew them.',
    request: [walletId, password],
    response: [{ name: 'wallet_handle_token', shape: { type: 'string' } }],
    responseName: 'APIV1POSTWalletInitResponse',
    errors: ['too_many_handles', 'no_secure_memory', 'stopping'],
    walletFailure: 401,
    access: {
      console: 'allowed',
      agent: allowed("its own wallet only; such a handle unlocks nothing without the agent's token"),
    },
    audit: { event: 'wallet_unlocked', required: 'all' },
  }),
  ReleaseWalletHandleToken: define({
    method: 'POST',
    path: '/v1/wallet/release',
    about: 'Releases a handle.',
    request: [handleToken],
    response: [],
    responseName: 'APIV1POSTWalletReleaseResponse',
    access: { console: 'allowed', agent: allowed('for its own handles') },
    audit: 'none',
  }),
  RenewWalletHandleToken: define({
    method: 'POST',
    path: '/v1/wallet/renew',
    about: 'Renews a handle for its full lifetime, or for the rest of session_max_lifetime_secs.',
    request: [handleToken],
    response: [walletHandle],
    responseName: 'APIV1POSTWalletRenewResponse',
    walletFailure: 500,
    access: { console: 'allowed', agent: allowed('for its own handles') },
    audit: 'none',
  }),
  RenameWallet: define({
    method: 'POST',
    path: '/v1/wallet/rename',
    once: true,
    about: 'Renames a wallet. Its open handles stay valid.',
    request: [
      walletId,
      password,
      { name: 'wallet_name', kind: name, about: 'The new name: 1 to 64 bytes; no other wallet may have this name' },
    ],
    response: [{ name: 'wallet', shape: wallet }],
    responseName: 'APIV1POSTWalletRenameResponse',
    errors: ['name_blank', 'name_too_long', 'name_taken'],
    walletFailure: 400,
    access: { console: 'allowed', agent: noChanges },
    audit: { event: 'wallet_renamed', required: 'all', isChange: true },
  }),
  GetWalletInfo: define({
    method: 'POST',
    path: '/v1/wallet/info',
    about: 'Returns the wallet of a handle and its remaining lifetime. Does not renew the handle.',
    request: [handleToken],
    response: [walletHandle],
    responseName: 'APIV1POSTWalletInfoResponse',
    walletFailure: 500,
    access: { console: 'allowed', agent: allowed('for its own handles') },
    audit: 'none',
  }),
}

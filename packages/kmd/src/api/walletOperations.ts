/** Operations on wallets and their handles. */
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import { driverName } from '../wallet/WalletFormat.js'
import * as AgentWallet from './agentWallet.js'
import type { WalletContext } from './Context.js'
import { ascii, bytes32, define, handleToken, name, password, wallet } from './Operation.js'
import { walletMember, walletsOutput } from './walletMembers.js'

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

export const walletOperations = [
  define({
    id: 'ListWallets',
    method: 'GET',
    path: '/v1/wallets',
    about: 'Lists all wallets.',
    request: [],
    response: [{ name: 'wallets', shape: { type: 'list', of: wallet } }],
    responseName: 'APIV1GETWalletsResponse',
    errors: ['wallets_directory'],
    walletFailure: 500,
    reusesOutput: true,
    run: async (context, _input, caller) =>
      caller.type === 'agent' ? AgentWallet.listWallets(context, caller) : walletsOutput(await context.wallets.list()),
  }),
  define({
    id: 'CreateWallet',
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
    run: async ({ wallets, pendingBackups }, input, caller) => {
      if (input.wallet_driver_name === 'ledger') throw new KmdError('not_supported')
      if (input.wallet_driver_name !== driverName) throw new KmdError('unknown_driver')
      const masterDerivationKey = input.master_derivation_key
      if (masterDerivationKey.length !== 0 && masterDerivationKey.length !== 32)
        throw new KmdError('bad_master_key_length')
      try {
        const { wallet_name: name, wallet_password: password } = input
        const created = await wallets.create({ name, password, masterDerivationKey })
        if (caller.type === 'session') pendingBackups.add(created.id.toString('latin1'))
        return { wallet: walletMember(created) }
      } finally {
        Secret.wipe(masterDerivationKey)
      }
    },
  }),
  define({
    id: 'InitWalletHandleToken',
    method: 'POST',
    path: '/v1/wallet/init',
    about: 'Unlocks a wallet and returns a handle for it. Handles expire; renew them.',
    request: [walletId, password],
    response: [{ name: 'wallet_handle_token', shape: { type: 'string' } }],
    responseName: 'APIV1POSTWalletInitResponse',
    errors: ['too_many_handles', 'no_secure_memory', 'stopping'],
    walletFailure: 401,
    run: async (context, input, caller) => {
      if (caller.type === 'agent') return AgentWallet.openHandle(context, caller, input.wallet_id)
      const { wallets, handles } = context
      const entry = await find(wallets, input.wallet_id)
      const open = (wallet: UnlockedWallet): string => handles.open(wallet)
      return { wallet_handle_token: await wallets.unlock(entry, input.wallet_password, open) }
    },
  }),
  define({
    id: 'ReleaseWalletHandleToken',
    method: 'POST',
    path: '/v1/wallet/release',
    about: 'Ends a handle.',
    request: [handleToken],
    response: [],
    responseName: 'APIV1POSTWalletReleaseResponse',
    run: ({ handles, agentHandles }, input, caller) => {
      if (caller.type === 'agent') agentHandles.release(caller.agent, input.wallet_handle_token)
      else handles.release(input.wallet_handle_token)
      return {}
    },
  }),
  define({
    id: 'RenewWalletHandleToken',
    method: 'POST',
    path: '/v1/wallet/renew',
    about: 'Gives a handle its whole lifetime again, or what session_max_lifetime_secs leaves of it.',
    request: [handleToken],
    response: [walletHandle],
    responseName: 'APIV1POSTWalletRenewResponse',
    walletFailure: 500,
    run: (context, input, caller) => {
      const { wallet_handle_token: token } = input
      if (caller.type === 'agent') {
        context.agentHandles.renew(caller.agent, token)
        return AgentWallet.describeHandle(context, caller, token)
      }
      context.handles.renew(token)
      return describeHandle(context, token)
    },
  }),
  define({
    id: 'RenameWallet',
    method: 'POST',
    path: '/v1/wallet/rename',
    once: true,
    about: 'Renames a wallet. Its open handles stay valid.',
    request: [
      walletId,
      password,
      { name: 'wallet_name', kind: name, about: 'The new name: 1 to 64 bytes that no other wallet is named by' },
    ],
    response: [{ name: 'wallet', shape: wallet }],
    responseName: 'APIV1POSTWalletRenameResponse',
    errors: ['name_blank', 'name_too_long', 'name_taken'],
    walletFailure: 400,
    run: async ({ wallets }, input) => {
      const renamed = await wallets.rename({
        key: input.wallet_id,
        password: input.wallet_password,
        name: input.wallet_name,
      })
      return { wallet: walletMember(renamed) }
    },
  }),
  define({
    id: 'GetWalletInfo',
    method: 'POST',
    path: '/v1/wallet/info',
    about: 'Tells which wallet a handle is for and how long it lives. Does not renew it.',
    request: [handleToken],
    response: [walletHandle],
    responseName: 'APIV1POSTWalletInfoResponse',
    walletFailure: 500,
    run: (context, input, caller) =>
      caller.type === 'agent'
        ? AgentWallet.describeHandle(context, caller, input.wallet_handle_token)
        : describeHandle(context, input.wallet_handle_token),
  }),
]

/** A wallet that is not found is the request's fault (400); a failure to unlock it is the password's (401). */
async function find(wallets: WalletContext['wallets'], key: string) {
  try {
    return await wallets.find(key)
  } catch (error) {
    if (error instanceof KmdError && error.code === 'wallets_directory') {
      throw new KmdError('wallet_not_found', { message: error.message, cause: error })
    }
    throw error
  }
}

async function describeHandle({ handles }: Pick<WalletContext, 'handles'>, token: string) {
  const wallet = handles.wallet(token)
  const name = await retryWhileLocked(() => wallet.name())
  return {
    wallet_handle: {
      expires_seconds: handles.expiresSeconds(token),
      wallet: walletMember({ id: wallet.id, name }),
    },
  }
}

/** Operations on wallets and their handles. */
import { Bytes } from '@latchkey/algorand'
import { byId, byIdAndName, nothing, text } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import { driverName } from '../wallet/WalletFormat.js'
import type { WalletContext } from './Context.js'
import type { Implementations } from './Implementation.js'
import { walletMember, walletsOutput } from './members.js'
import * as OwnAgent from './ownAgent.js'

export const walletOperations = {
  ListWallets: {
    reusesOutput: true,
    run: async ({ wallets }) => walletsOutput(await wallets.list()),
    runAsAgent: (context, _input, caller) => OwnAgent.listWallets(context, caller),
  },
  CreateWallet: {
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
    record: {
      subject: nothing,
      result: ({ master_derivation_key: key }, { wallet: { id, name } }) => ({
        wallet: text(id),
        detail: { wallet_name: text(name), ...(!Bytes.isZero(key) && { from: 'a master key' }) },
      }),
    },
  },
  InitWalletHandleToken: {
    run: async ({ wallets, handles }, input) => {
      const entry = await find(wallets, input.wallet_id)
      const open = (wallet: UnlockedWallet): string => handles.open(wallet)
      return { wallet_handle_token: await wallets.unlock(entry, input.wallet_password, open) }
    },
    // Ignores the password, because an agent has none.
    runAsAgent: (context, input, caller) => OwnAgent.openHandle(context, caller, input.wallet_id),
    record: {
      subject: byId,
      undo: ({ handles }, output) => handles.release(output.wallet_handle_token),
    },
  },
  ReleaseWalletHandleToken: {
    run: ({ handles }, input) => {
      handles.release(input.wallet_handle_token)
      return {}
    },
    runAsAgent: ({ agentHandles }, input, { agent }) => {
      agentHandles.release(agent, input.wallet_handle_token)
      return {}
    },
  },
  RenewWalletHandleToken: {
    run: (context, { wallet_handle_token: token }) => {
      context.handles.renew(token)
      return describeHandle(context, token)
    },
    runAsAgent: (context, { wallet_handle_token: token }, caller) => {
      context.agentHandles.renew(caller.agent, token)
      return OwnAgent.describeHandle(context, caller, token)
    },
  },
  RenameWallet: {
    run: async ({ wallets }, input) => {
      const renamed = await wallets.rename({
        key: input.wallet_id,
        password: input.wallet_password,
        name: input.wallet_name,
      })
      return { wallet: walletMember(renamed) }
    },
    record: {
      subject: byIdAndName,
      result: ({ wallet_name: name }) => ({ detail: { new_name: text(name) } }),
    },
  },
  GetWalletInfo: {
    run: (context, input) => describeHandle(context, input.wallet_handle_token),
    runAsAgent: (context, input, caller) => OwnAgent.describeHandle(context, caller, input.wallet_handle_token),
  },
} satisfies Partial<Implementations>

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

/** `latchkey agent new NAME`: lets a program spend from a key, within limits. */

import { Address } from '@latchkey/algorand'
import type { Kmd, WalletInfo } from '@latchkey/kmd-client'
import { expiresOption, readExpiry } from '../../agents/expiry.js'
import { networkOfChain } from '../../agents/ruleNetwork.js'
import { ruleOptions, rulesFrom } from '../../agents/rulesFrom.js'
import { withToken } from '../../agents/showToken.js'
import { checkTokenFile, tokenFileOption } from '../../agents/TokenFile.js'
import { command, jsonOption } from '../../Command.js'
import { chainOptions, openChain } from '../../chain.js'
import { chooseWallet, walletOptions, withDaemon, withPassword } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { withProgress } from '../../messages.js'

export const agentNewCommand = command({
  description: `Create an agent: its token lets a program sign payments with keys of one wallet, within limits that the daemon enforces. \
The program never gets the key and needs no password. The token is shown once.`,
  positionals: [{ name: 'NAME', description: 'name of the agent' }],
  options: {
    key: {
      type: 'string',
      short: 'k',
      multiple: true,
      placeholder: 'ADDRESS',
      description: 'key that the agent may use; repeatable. Optional if the wallet has one key',
    },
    ...ruleOptions,
    ...expiresOption,
    ...tokenFileOption,
    ...walletOptions,
    ...chainOptions,
    ...jsonOption,
  },
  notes: `Limits are checked before signing and persist across restarts. Fees count as ALGO: without an ALGO limit the agent cannot pay fees, which \
x402 payments do not require if the facilitator pays the fee. Programs send the token instead of the daemon's API token.`,
  examples: [
    "latchkey agent new shopper --limit '$5/day' --each '$0.50' --token-file shopper.token",
    "latchkey agent new payroll --limit '100 ALGO/week' --pay-to ADDRESS --ask-above '20 ALGO' --expires 30d",
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [name] }) => {
    const expiresAtMs = options.expires === undefined ? undefined : readExpiry(options.expires)
    const tokenFile = checkTokenFile(options['token-file'])
    const rules = rulesFrom(options, networkOfChain(await openChain(options, process.env)))
    return withDaemon(options, async (kmd) => {
      const wallet = await chooseWallet(kmd, options.wallet)
      await withPassword(options, wallet.name, async (password) => {
        const addresses = await keysFor(kmd, wallet, { given: options.key, password })
        const make = () =>
          kmd.agents.create({ name: name!, walletId: wallet.id, password, addresses, rules, expiresAtMs })
        await withToken(kmd, () => withProgress(`Making ${quoted(name!)}`, make()), {
          tokenFile,
          isJson: options.json,
          onLost: 'revoke',
        })
      })
      return exitCodes.ok
    })
  },
})

type KeyChoice = { readonly given: readonly string[] | undefined; readonly password: () => Promise<Uint8Array> }

/** Returns the named keys, or the only key of the wallet. */
async function keysFor(kmd: Kmd, { id, name }: WalletInfo, { given, password }: KeyChoice): Promise<readonly string[]> {
  for (const address of given ?? []) {
    if (!Address.isValid(address)) throw new UsageError(`--key ${quoted(address)} is not an address`)
  }
  if (given !== undefined) return [...new Set(given)]
  const wallet = await withProgress(`Unlocking ${quoted(name)}`, kmd.unlock({ id, password }))
  try {
    const keys = await wallet.keys()
    if (keys.length === 1) return keys
    if (keys.length === 0) {
      throw new CommandError('key_not_found', `the wallet ${quoted(name)} has no key yet`, {
        hint: 'generate one with latchkey key new',
      })
    }
    throw new UsageError(`the wallet ${quoted(name)} has ${keys.length} keys`, {
      hint: 'choose the keys that the agent may use with --key; latchkey key list lists them',
    })
  } finally {
    await wallet.release().catch(() => {})
  }
}

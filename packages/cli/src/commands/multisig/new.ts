/** `latchkey multisig new`: adds a multisig account to a wallet. */
import { Address, Multisig } from '@latchkey/algorand'
import { command, jsonOption, readNumber } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printLine, printWarning } from '../../messages.js'
import { checkAddress } from '../key/checkKey.js'

const maxMembers = 255

export const multisigNewCommand = command({
  description: `Add a multisig account to a wallet, so that keys in the wallet can sign for it, and print its address. The address is derived from \
the members, their order and the threshold.`,
  positionals: [{ name: 'ADDRESS', description: 'addresses of the members; the order matters', isVariadic: true }],
  options: {
    threshold: { type: 'string', short: 't', placeholder: 'N', description: 'number of members that must sign' },
    ...walletOptions,
    ...jsonOption,
  },
  notes: "The members' keys need not be in this wallet; latchkey sign signs with those that are.",
  examples: ['latchkey multisig new --threshold 2 ADDRESS ADDRESS ADDRESS'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args: members }) => {
    for (const member of members) checkAddress(member)
    if (members.length > maxMembers) throw new UsageError(`a multisig account has at most ${maxMembers} members`)
    const threshold = readNumber('--threshold', options.threshold, 1, members.length)
    if (threshold === undefined) throw new UsageError('--threshold is missing')
    const publicKeys = members.map((member) => Address.decode(member))
    const own = Address.encode(Multisig.address({ version: 1, threshold, publicKeys }))
    return withWallet(options, async ({ wallet }) => {
      if ((await wallet.multisigs()).includes(own)) {
        throw new CommandError('multisig_exists', `${own} is already in ${quoted(wallet.name)}; nothing was done`)
      }
      const address = await wallet.importMultisig({ threshold, publicKeys })
      if (address !== own)
        throw new CommandError(
          'daemon_misbehaved',
          `the daemon returned a different address for the account: ${address}`,
        )
      if (new Set(members).size < members.length) {
        printWarning('a member is listed more than once; each listing counts as a signature')
      }
      const result = { wallet: { id: wallet.id, name: wallet.name }, address, version: 1, threshold, members }
      if (options.json) printJson(result)
      else printLine(address)
      return exitCodes.ok
    })
  },
})

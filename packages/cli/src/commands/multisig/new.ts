/** `latchkey multisig new`: an account that several keys sign for. */
import { Address, Multisig } from '@latchkey/algorand'
import { command, jsonOption, readNumber, UsageError } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { CommandError, exitCodes } from '../../exitCodes.js'
import { quoted } from '../../printable.js'
import { checkAddress } from '../key/find.js'

const maxMembers = 255

export const multisigNewCommand = command({
  text: `Keeps in a wallet what a multisig account is made of, so that its keys can sign for it, and prints the account's address. \
The same members in the same order with the same threshold always have the same address.`,
  takes: [{ name: 'ADDRESS', about: 'of each member; their order counts', isMany: true }],
  options: {
    threshold: { type: 'string', short: 't', value: 'N', about: 'how many members must sign' },
    ...walletOptions,
    ...jsonOption,
  },
  notes: 'Members need not have their keys in this wallet. latchkey sign signs for those that have.',
  examples: ['latchkey multisig new --threshold 2 ADDRESS ADDRESS ADDRESS'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: async ({ options, args: members }) => {
    for (const member of members) checkAddress(member)
    if (members.length > maxMembers) throw new UsageError(`a multisig account has at most ${maxMembers} members`)
    const threshold = readNumber('--threshold', options.threshold, 1, members.length)
    if (threshold === undefined) throw new UsageError('--threshold is missing')
    const publicKeys = members.map((member) => Address.decode(member))
    const own = Address.encode(Multisig.address({ version: 1, threshold, publicKeys }))
    return withWallet(options, async ({ wallet }) => {
      if ((await wallet.multisigs()).includes(own)) {
        throw new CommandError('failed', `${own} is in ${quoted(wallet.name)} already; nothing was done`)
      }
      const address = await wallet.importMultisig({ threshold, publicKeys })
      if (address !== own)
        throw new CommandError('failed', `the daemon made ${address} of it, which is not its address`)
      if (new Set(members).size < members.length) {
        process.stderr.write('warning: a member is there more than once, and counts as often\n')
      }
      const outcome = { wallet: { id: wallet.id, name: wallet.name }, address, version: 1, threshold, members }
      process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `${address}\n`)
      return exitCodes.ok
    })
  },
})

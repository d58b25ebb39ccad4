/** One multisig account with its balance and members. */
import { AddressText } from '../components/AddressText.js'
import { scrollTo } from '../components/scrollTo.js'
import type { MultisigAccount } from '../model/signerOptions.js'
import type { Account } from '../responseTypes.js'
import { AddressLine, Balance } from './KeyRow.js'

type Props = {
  multisig: MultisigAccount
  keys: readonly string[]
  account: Account | undefined
  isFound: boolean
  onFunded: () => Promise<void>
  onLabel: (address: string) => void
}

export function MultisigRow({ multisig, keys, account, isFound, onFunded, onLabel }: Props) {
  const { address, threshold, members } = multisig
  return (
    <li class={isFound ? 'found' : undefined} ref={isFound ? scrollTo : null}>
      <AddressLine address={address} onFunded={onFunded} onLabel={onLabel} />
      <Balance account={account} />
      <details>
        <summary>
          {threshold} of {members.length} signatures required
        </summary>
        <ol class="members">
          {members.map((member, index) => (
            // The index is the key: an address may be a member twice, and the list never changes.
            <li key={index}>
              <AddressText address={member} />
              {keys.includes(member) && <span class="tag">in this wallet</span>}
            </li>
          ))}
        </ol>
      </details>
    </li>
  )
}

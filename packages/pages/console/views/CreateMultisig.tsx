/** Dialog that creates a multisig account from its members, in order, and a threshold. */

import { Address } from '@latchkey/algorand'
import { multisigOperations } from '@latchkey/kmd-api/operations'
import { useRef, useState } from 'preact/hooks'
import { Dialog } from '../components/Dialog.js'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { shortAddress } from '../model/shortAddress.js'
import { type OpenWallet, useStore } from '../store.js'

type Props = { wallet: OpenWallet; keys: readonly string[]; onClose: () => void; onCreated: () => void }

const maxMembers = 255

export function CreateMultisig({ wallet, keys, onClose, onCreated }: Props) {
  const store = useStore()
  const list = useRef<HTMLTextAreaElement>(null)
  const [members, setMembers] = useState<readonly string[]>([])
  const [threshold, setThreshold] = useState(2)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const read = (): void => setMembers((list.current?.value ?? '').split(/[\s,]+/).filter((part) => part !== ''))
  const add = (address: string): void => {
    if (list.current === null) return
    list.current.value = [list.current.value.trim(), address].filter((part) => part !== '').join('\n')
    read()
  }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    const invalid = validate(members, threshold)
    setError(invalid)
    if (invalid !== undefined) return
    setBusy(true)
    try {
      const pks = members.map((member) => Address.decode(member))
      await store.withHandle(wallet.id, ({ handle }) => {
        const request = { wallet_handle_token: handle, multisig_version: 1, threshold, pks }
        return store.daemon.call(multisigOperations.ImportMultisig, request)
      })
      await store.renew(wallet.id)
      onCreated()
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }

  return (
    <Dialog title="Create multisig" onClose={onClose}>
      <form onSubmit={create}>
        <div class="field">
          <label for="members">Member addresses, one per line</label>
          <textarea
            id="members"
            ref={list}
            rows={5}
            onInput={read}
            spellcheck={false}
            autocomplete="off"
            aria-describedby="members-hint"
          />
          <p class="hint" id="members-hint">
            The order matters: a different order gives a different account. Every member needs the same list.
          </p>
        </div>
        {keys.length > 0 && (
          <p class="chips">
            <span class="soft">From this wallet:</span>
            {keys.slice(0, 8).map((address) => (
              <button type="button" class="quiet" key={address} onClick={() => add(address)}>
                Add {shortAddress(address)}
              </button>
            ))}
          </p>
        )}
        <div class="field">
          <label for="threshold">Signatures required</label>
          <div class="with-button">
            <input
              id="threshold"
              class="short"
              type="number"
              min={1}
              max={maxMembers}
              value={threshold}
              onInput={(event) => setThreshold(event.currentTarget.valueAsNumber)}
            />
            <span class="soft">of {members.length}</span>
          </div>
        </div>
        <ErrorText text={error} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function validate(members: readonly string[], threshold: number): string | undefined {
  if (members.length === 0) return 'Enter the members’ addresses.'
  if (members.length > maxMembers) return `A multisig account has at most ${maxMembers} members.`
  for (const [index, member] of members.entries()) {
    try {
      Address.decode(member)
    } catch (error) {
      return `Line ${index + 1}: ${errorMessage(error)}`
    }
  }
  if (!Number.isInteger(threshold) || threshold < 1) return 'At least one signature is required.'
  if (threshold > members.length)
    return `${threshold} signatures need at least ${threshold} members; there are ${members.length}.`
  return undefined
}

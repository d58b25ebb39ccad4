/** A new multisig account: its members, in order, and how many of them must sign. */
import { useRef, useState } from 'preact/hooks'
import { Dialog } from '../components/Dialog.js'
import { Problem } from '../components/Problem.js'
import * as Address from '../model/address.js'
import { shorten } from '../model/signers.js'
import { messageOf, type OpenWallet, useStore } from '../store.js'

type Props = { wallet: OpenWallet; keys: readonly string[]; onClose: () => void; onCreated: () => void }

const mostMembers = 255

export function CreateMultisig({ wallet, keys, onClose, onCreated }: Props) {
  const store = useStore()
  const list = useRef<HTMLTextAreaElement>(null)
  const [members, setMembers] = useState<readonly string[]>([])
  const [threshold, setThreshold] = useState(2)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const read = (): void => setMembers((list.current?.value ?? '').split(/[\s,]+/).filter((part) => part !== ''))
  const add = (address: string): void => {
    if (list.current === null) return
    list.current.value = [list.current.value.trim(), address].filter((part) => part !== '').join('\n')
    read()
  }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    const wrong = check(members, threshold)
    setProblem(wrong)
    if (wrong !== undefined) return
    setBusy(true)
    try {
      await store.use(wallet.id, ({ handle }) => store.api.importMultisig({ handle, threshold, members }))
      await store.renew(wallet.id)
      onCreated()
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }

  return (
    <Dialog title="Create multisig" onClose={onClose}>
      <form onSubmit={create}>
        <div class="field">
          <label for="members">Addresses of the members, one a line</label>
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
            Their order counts: another order is another account. Everybody who signs for it needs this same list.
          </p>
        </div>
        {keys.length > 0 && (
          <p class="chips">
            <span class="soft">From this wallet:</span>
            {keys.slice(0, 8).map((address) => (
              <button type="button" class="quiet" key={address} onClick={() => add(address)}>
                Add {shorten(address)}
              </button>
            ))}
          </p>
        )}
        <div class="field">
          <label for="threshold">How many of them must sign</label>
          <div class="with-button">
            <input
              id="threshold"
              class="short"
              type="number"
              min={1}
              max={mostMembers}
              value={threshold}
              onInput={(event) => setThreshold(event.currentTarget.valueAsNumber)}
            />
            <span class="soft">of {members.length}</span>
          </div>
        </div>
        <Problem text={problem} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function check(members: readonly string[], threshold: number): string | undefined {
  if (members.length === 0) return 'Give the addresses of the members.'
  if (members.length > mostMembers) return `A multisig account has at most ${mostMembers} members.`
  for (const [index, member] of members.entries()) {
    try {
      Address.decode(member)
    } catch (error) {
      return `Line ${index + 1}: ${(error as Error).message}`
    }
  }
  if (!Number.isInteger(threshold) || threshold < 1) return 'At least one has to sign.'
  if (threshold > members.length) return `${threshold} cannot sign where there are only ${members.length}.`
  return undefined
}

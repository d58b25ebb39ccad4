/** From a transaction that was pasted to a signed one: what it does is told first. */
import { useEffect, useState } from 'preact/hooks'
import { Heading } from '../components/Heading.js'
import * as Envelope from '../model/envelope.js'
import type { Pasted } from '../signing.js'
import { type Store, useStore } from '../store.js'
import { SignForm } from './SignForm.js'
import { SignInput } from './SignInput.js'
import { SignResult } from './SignResult.js'

type State =
  | { step: 'input' }
  | { step: 'review'; pasted: readonly Pasted[]; groupWarnings: readonly string[] }
  | { step: 'done'; signed: readonly Uint8Array[]; ids: readonly string[] }

const input: State = { step: 'input' }
const kept = new WeakMap<Store, State>()

export function SignView() {
  const store = useStore()
  const [state, setState] = useState(() => kept.get(store) ?? input)
  // Whoever goes to unlock a wallet finds it again.
  useEffect(() => void kept.set(store, state), [store, state])

  const read = async (bytes: Uint8Array): Promise<void> => {
    const { transactions, groupWarnings } = await store.api.describe(bytes)
    const parts = Envelope.split(bytes)
    const pasted = transactions.map((transaction, index) => ({ transaction, original: parts[index] ?? bytes }))
    setState({ step: 'review', pasted, groupWarnings })
  }
  const startOver = (): void => setState(input)

  return (
    <section aria-labelledby="sign-title">
      <Heading id="sign-title" key={state.step}>
        {state.step === 'done' ? 'Signed' : 'Sign'}
      </Heading>
      {state.step === 'input' && <SignInput onBytes={read} />}
      {state.step === 'review' && (
        <SignForm
          pasted={state.pasted}
          groupWarnings={state.groupWarnings}
          onSigned={(signed) =>
            setState({ step: 'done', signed, ids: state.pasted.map(({ transaction }) => transaction.transactionId) })
          }
          onCancel={startOver}
        />
      )}
      {state.step === 'done' && <SignResult signed={state.signed} ids={state.ids} onAgain={startOver} />}
    </section>
  )
}

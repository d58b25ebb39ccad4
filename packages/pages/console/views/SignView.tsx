/** Signs a transaction in three steps: input, review, result. */
import { describeOperations } from '@latchkey/kmd-api/operations'
import { useEffect, useState } from 'preact/hooks'
import { Heading } from '../components/Heading.js'
import { split } from '../model/signedTransaction.js'
import type { ReviewedTransaction } from '../signing.js'
import { type Store, useStore } from '../store.js'
import { SignForm } from './SignForm.js'
import { SignInput } from './SignInput.js'
import { SignResult } from './SignResult.js'
import '../styles/money.css'
import '../styles/sign.css'

type State =
  | { step: 'input' }
  | { step: 'review'; transactions: readonly ReviewedTransaction[]; groupWarnings: readonly string[] }
  | { step: 'done'; signed: readonly Uint8Array[]; ids: readonly string[]; lines: readonly string[] }

const input: State = { step: 'input' }
/** Survives navigation: the person may have to unlock a wallet before signing. */
const savedStates = new WeakMap<Store, State>()

export function SignView() {
  const store = useStore()
  const [state, setState] = useState(() => savedStates.get(store) ?? input)
  useEffect(() => void savedStates.set(store, state), [store, state])

  const review = async (bytes: Uint8Array): Promise<void> => {
    const described = await store.daemon.call(describeOperations.DescribeTransaction, { transaction: bytes })
    const parts = split(bytes)
    const transactions = described.transactions.map((description, index) => ({
      description,
      original: parts[index] ?? bytes,
    }))
    setState({ step: 'review', transactions, groupWarnings: described.groupWarnings })
  }
  const restart = (): void => setState(input)

  return (
    <section aria-labelledby="sign-title">
      <Heading id="sign-title" key={state.step}>
        {state.step === 'done' ? 'Signed' : 'Sign'}
      </Heading>
      {state.step === 'input' && <SignInput onBytes={review} />}
      {state.step === 'review' && (
        <SignForm
          transactions={state.transactions}
          groupWarnings={state.groupWarnings}
          onSigned={(signed) =>
            setState({
              step: 'done',
              signed,
              ids: state.transactions.map(({ description }) => description.transactionId),
              lines: state.transactions.map(({ description }) => description.words[0] ?? ''),
            })
          }
          onCancel={restart}
        />
      )}
      {state.step === 'done' && <SignResult {...state} onRestart={restart} />}
    </section>
  )
}

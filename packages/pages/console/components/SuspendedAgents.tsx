/** Agents that the daemon suspended. The owner reviews their recorded spending and confirms with the password. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { safeName } from '../model/safeName.js'
import { usePasswordAction } from '../passwordAction.js'
import type { Agent } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { ActPassword } from './ActPassword.js'
import { Dialog } from './Dialog.js'
import { ErrorText } from './ErrorText.js'

type Wallet = { id: string; name: string; agents: readonly Agent[] }

/** A notice with a button for each wallet, or nothing if no agent is suspended. */
export function SuspendedAgents({ agents, onChange }: { agents: readonly Agent[]; onChange: () => Promise<void> }) {
  const [openId, setOpenId] = useState<string>()
  const wallets = walletsOf(agents.filter(({ state }) => state === 'suspended'))
  const open = wallets.find(({ id }) => id === openId)
  if (wallets.length === 0) return null
  return (
    <div class="cautions" role="alert">
      <p>
        <b>Agents are suspended.</b> The daemon’s state database was rolled back or damaged, so its record of spending
        may be incomplete. Compare the budgets below with your own records, revoke agents that should no longer sign,
        then confirm. <a href={hrefOf({ view: 'activity' })}>The audit log</a> shows the reason.
      </p>
      <p class="actions">
        {wallets.map((wallet) => (
          <button key={wallet.id} type="button" onClick={() => setOpenId(wallet.id)}>
            Confirm the agents of {safeName(wallet.name)}
          </button>
        ))}
      </p>
      {open !== undefined && <ConfirmDialog wallet={open} onChange={onChange} onClose={() => setOpenId(undefined)} />}
    </div>
  )
}

type DialogProps = { wallet: Wallet; onChange: () => Promise<void>; onClose: () => void }

function ConfirmDialog({ wallet, onChange, onClose }: DialogProps) {
  const store = useStore()
  const action = usePasswordAction(wallet.id)
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault()
    const isDone = await action.run(async (password) => {
      await store.daemon.call(agentOperations.ConfirmAgents, { wallet_id: wallet.id, wallet_password: password })
    })
    if (!isDone) return
    await onChange()
    onClose()
  }
  return (
    <Dialog title={`Confirm the agents of ${safeName(wallet.name)}`} onClose={onClose}>
      <form onSubmit={confirm}>
        <p>
          These agents can sign again, with the spending recorded now:{' '}
          {wallet.agents.map(({ name }) => safeName(name)).join(', ')}. Spending since the restored copy was made is not
          counted.
        </p>
        <ActPassword act={action.act} wallet={wallet} hint="" error={action.passwordError} />
        <ErrorText text={action.error} />
        <p class="actions">
          <button type="submit" class="main" disabled={action.isBusy}>
            {action.isBusy ? 'Confirming…' : 'Confirm'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function walletsOf(agents: readonly Agent[]): Wallet[] {
  const byId = new Map<string, Agent[]>()
  for (const agent of agents) byId.set(agent.walletId, [...(byId.get(agent.walletId) ?? []), agent])
  return [...byId].map(([id, ofWallet]) => ({ id, name: ofWallet[0]!.walletName || id, agents: ofWallet }))
}

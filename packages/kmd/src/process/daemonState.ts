/** Opens a running daemon's database and its reporting: kmd.log and the approval webhook. */
import type { Approval } from '../agents/approvals/Approval.js'
import { Webhook } from '../agents/approvals/Webhook.js'
import * as WebhookSecret from '../agents/approvals/webhookSecret.js'
import { approvalJson } from '../api/approvalOperations.js'
import { openState, type State } from '../state/openState.js'
import type { Wallets } from '../wallet/Wallets.js'
import { Closers } from './Closers.js'
import type { Config } from './Config.js'
import { explain, type Log } from './Log.js'

export type DaemonStateOptions = {
  dataDir: string
  config: Config
  log: Log
  wallets: Wallets
}

/** Resumed after the start, so as not to delay it. */
const resumeAfterMs = 100

/** Creates nothing before the first record. `close` also ends the webhook. */
export function openDaemonState({ dataDir, config, log, wallets }: DaemonStateOptions): State {
  const closers = new Closers()
  // Deliveries start after the state is open.
  const body = (approval: Approval): object => approvalJson(approval, state.agents)
  const webhook = openWebhook({ config, dataDir, log, body })
  closers.add(() => webhook?.close())
  const onProblem = (error: unknown): void => log.write('error', `latchkey_state.db: ${explain(error)}`)
  const onApproval = webhook && ((approval: Approval): void => webhook.send(approval))
  const onDamage = (reason: string): void =>
    log.write(
      'error',
      `the audit log was altered: ${reason}. The recorded spending may lack payments, so all agents are suspended. To let them sign again: latchkey agent confirm`,
    )
  const state = closers.use(openState({ directory: dataDir, wallets, onProblem, onDamage, onApproval }))
  const resume = (): Promise<void> => state.check().then(() => state.approvals.resume())
  const resuming = setTimeout(() => void resume().catch(onProblem), resumeAfterMs).unref()
  closers.add(() => clearTimeout(resuming))
  return { ...state, close: () => closers.close() }
}

type WebhookSettings = { config: Config; dataDir: string; log: Log; body: (approval: Approval) => object }

/** Notifies the owner's program about approvals, if one is configured. */
function openWebhook({ config, dataDir, log, body }: WebhookSettings): Webhook | undefined {
  const { approvalWebhook: url } = config
  if (url === '') return undefined
  const secret = WebhookSecret.readOrCreate(dataDir)
  const onFailure = (message: string): void => log.write('error', message)
  return new Webhook({ url, secret, body, onFailure })
}

/** The database of a running daemon, with what reports from it: kmd.log and the webhook of approvals. */
import type { Approval } from '../agents/approvals/Approval.js'
import { Webhook } from '../agents/approvals/Webhook.js'
import * as WebhookSecret from '../agents/approvals/webhookSecret.js'
import { approvalJson } from '../api/approvalOperations.js'
import { openState, type State } from '../state/openState.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { Closers } from './Closers.js'
import type { Config } from './Config.js'
import { explain } from './explain.js'
import type { Log } from './Log.js'

export type DaemonStateOptions = {
  dataDir: string
  config: Config
  log: Log
  wallets: Wallets
  closers: Closers
}

/** It is looked at after the start, which must not take longer by it. */
const resumeAfterMs = 100

/** Nothing is made before the first record. */
export function openDaemonState({ dataDir, config, log, wallets, closers }: DaemonStateOptions): State {
  const webhook = openWebhook(config, dataDir, log)
  closers.add(() => webhook?.close())
  const onProblem = (error: unknown): void => log.write('error', `latchkey_state.db: ${explain(error)}`)
  const onApproval = webhook && ((approval: Approval): void => webhook.send(approval))
  const onDamage = (reason: string): void =>
    log.write(
      'error',
      `the audit log is not as it was written: ${reason}. What agents have spent since is not known: they are suspended until you run latchkey agent confirm`,
    )
  const state = openState({ directory: dataDir, wallets, onProblem, onDamage, onApproval })
  closers.add(state.close)
  const resume = (): Promise<void> => state.check().then(() => state.approvals.resume())
  const resuming = setTimeout(() => void resume().catch(onProblem), resumeAfterMs).unref()
  closers.add(() => clearTimeout(resuming))
  return state
}

/** Tells the owner's program about approvals, if there is one. */
function openWebhook({ approvalWebhook: url }: Config, dataDir: string, log: Log): Webhook | undefined {
  if (url === '') return undefined
  const secret = WebhookSecret.readOrCreate(dataDir)
  const onFailure = (message: string): void => log.write('error', message)
  return new Webhook({ url, secret, body: approvalJson, onFailure })
}

/** Opens a running daemon's recorder of audit records. */
import type { Context } from '../api/Context.js'
import type { AuditEvent } from '../audit/AuditChain.js'
import { Recorder } from '../audit/Recorder.js'
import * as Config from './Config.js'
import { explain } from './explain.js'
import type { Log } from './Log.js'

export function openRecorder(context: Context, { audit: mode }: Config.Config, log: Log): Recorder {
  const onLost = ({ event }: AuditEvent, error: unknown): void =>
    log.write('error', `not recorded in the audit log: ${event}: ${explain(error)}`)
  return new Recorder({ log: context.audit, context, mode, onLost })
}

/** Records only the names, because a value may be a node's token. */
export function settingsChanged(before: Config.Config, after: Config.Config): AuditEvent {
  const changed = (Object.keys(Config.settingNames) as (keyof Config.Config)[]).filter(
    (setting) => before[setting] !== after[setting],
  )
  const detail = { settings: changed.map((setting) => Config.settingNames[setting].name), audit: after.audit }
  return { event: 'settings_changed', actor: { type: 'daemon' }, detail }
}

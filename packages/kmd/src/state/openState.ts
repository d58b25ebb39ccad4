/** Opens the daemon's own state: its database and the audit log in it. No file is made before the first write. */
import { join } from 'node:path'
import { AuditLog } from '../audit/AuditLog.js'
import * as HeadCopy from '../audit/HeadCopy.js'
import { StateDatabase } from './StateDatabase.js'
import { migrations } from './schema.js'

/** The name of the database in a data directory. */
export const fileName = 'latchkey_state.db'

export type State = { readonly database: StateDatabase; readonly audit: AuditLog; readonly close: () => void }

export type OpenStateOptions = {
  directory: string
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined
  /** Called with what is no reason to stop: the copy of the log's head could not be written. */
  onProblem?: ((error: unknown) => void) | undefined
  /** Called after a transaction was rolled back: what is in memory no longer agrees with the file. */
  onRollback?: (() => void) | undefined
}

export function openState({ directory, now, onProblem, onRollback }: OpenStateOptions): State {
  const database = new StateDatabase({
    file: join(directory, fileName),
    migrations,
    onCommit: () => audit.committed(),
    onRollback: () => {
      audit.forgetHead()
      onRollback?.()
    },
  })
  const audit = new AuditLog({
    database,
    headCopy: new HeadCopy.HeadCopy(join(directory, HeadCopy.fileName)),
    ...(now && { now }),
    ...(onProblem && { onCopyFailure: onProblem }),
  })
  const close = (): void => {
    database.close()
    audit.close()
  }
  return { database, audit, close }
}

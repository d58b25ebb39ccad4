/** The backup dialog in a separate file, for the views and dialogs that open it. */
import { lazyDialog } from '../components/Lazy.js'

export const BackupDialog = lazyDialog(async () => (await import('./BackupDialog.js')).BackupDialog)

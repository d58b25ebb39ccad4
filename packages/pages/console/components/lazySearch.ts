/** Loaded when it is first opened, or while the page is idle. */
import { lazyDialog } from './Lazy.js'

export const SearchDialog = lazyDialog(async () => (await import('./SearchDialog.js')).SearchDialog)

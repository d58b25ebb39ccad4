/** The result of one check: fine, or a problem and its fix. */
export type Finding = {
  readonly state: 'ok' | 'warning' | 'fault'
  readonly text: string
  /** The fix. */
  readonly cure?: string
}

export const ok = (text: string): Finding => ({ state: 'ok', text })
export const warning = (text: string, cure: string): Finding => ({ state: 'warning', text, cure })
export const fault = (text: string, cure: string): Finding => ({ state: 'fault', text, cure })

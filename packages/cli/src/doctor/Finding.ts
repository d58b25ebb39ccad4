/** What was found out about one thing: that it is well, or what to do about it. */
export type Finding = {
  readonly state: 'ok' | 'warning' | 'fault'
  readonly text: string
  /** What mends it; what is well needs none. */
  readonly cure?: string
}

export const ok = (text: string): Finding => ({ state: 'ok', text })
export const warning = (text: string, cure: string): Finding => ({ state: 'warning', text, cure })
export const fault = (text: string, cure: string): Finding => ({ state: 'fault', text, cure })

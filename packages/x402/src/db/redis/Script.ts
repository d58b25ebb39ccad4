/** Scripts that the server runs atomically, with its own clock. */
import { createHash } from 'node:crypto'

export type Script = { readonly text: string; readonly sha: string }

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** `now` in milliseconds. The clock of the server decides, not those of the replicas. */
export const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Begins a script that the server refuses entirely while its memory is full (since Redis 7). Without it, a script that
 * has written anything continues beyond the limit.
 */
export const refusedWhenFull = '#!lua\n'

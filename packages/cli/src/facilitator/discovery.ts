/** The catalogue of a facilitator and the networks that it lists, from the options of the command. */
import type { DiscoveryOptions, FacilitatorOptions } from '@latchkey/x402/facilitator'
import type { Option } from '../Command.js'
import { UsageError } from '../errors.js'

export const discoveryOptions = {
  discovery: {
    type: 'boolean',
    description: 'list settled resources in a catalogue, after asking their sellers, and serve it at /discovery',
  },
  'discovery-private': {
    type: 'boolean',
    description: 'with --discovery: also ask sellers at private addresses and without TLS; for development',
  },
  'network-ids': {
    type: 'string',
    placeholder: 'IDS',
    description:
      'ids of the network at /supported: both (default), because older sellers look up the longer id, or canonical',
  },
} as const satisfies { [name: string]: Option }

type Values = { readonly discovery?: boolean | undefined; readonly 'discovery-private'?: boolean | undefined }

/** Undefined if the facilitator has no catalogue. */
export function readDiscovery(options: Values): DiscoveryOptions | undefined {
  const { discovery = false, 'discovery-private': allowPrivate = false } = options
  if (allowPrivate && !discovery) throw new UsageError('--discovery-private needs --discovery')
  return discovery ? { allowPrivate } : undefined
}

/** Undefined for the default. */
export function readNetworkIds({
  'network-ids': ids,
}: {
  readonly 'network-ids'?: string | undefined
}): FacilitatorOptions['networkIds'] {
  if (ids === undefined || ids === 'both' || ids === 'canonical') return ids
  throw new UsageError('--network-ids is neither both nor canonical', { code: 'invalid_value' })
}

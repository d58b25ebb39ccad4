/** Whom a facilitator serves and how much it spends, from the options of the command. */
import { readFileSync } from 'node:fs'
import { Address } from '@latchkey/algorand'
import type { PolicyOptions } from '@latchkey/x402/facilitator'
import { type Option, readInteger, readNumber } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'

export const policyOptions = {
  'pay-to': {
    type: 'string',
    multiple: true,
    placeholder: 'ADDRESS',
    description: 'settle only for this seller; repeatable',
  },
  asset: {
    type: 'string',
    multiple: true,
    placeholder: 'ID',
    description: 'settle only in this asset; repeatable',
  },
  rate: {
    type: 'string',
    placeholder: 'N',
    description: 'maximum settled payments per minute and seller; one payer may use half of them',
  },
  'caller-rate': {
    type: 'string',
    placeholder: 'N',
    description: 'maximum requests per minute and caller, by API key or address',
  },
  'client-ip-header': {
    type: 'string',
    placeholder: 'NAME',
    description: "header in which a proxy sends the caller's address",
  },
  'min-amount': {
    type: 'string',
    placeholder: 'UNITS',
    description: 'pay the fee only for payments of at least this many base units',
  },
  'fee-budget': { type: 'string', placeholder: 'MICRO', description: 'maximum fees per day and seller, in microAlgos' },
  'total-fee-budget': {
    type: 'string',
    placeholder: 'MICRO',
    description: 'maximum total fees per day, in microAlgos',
  },
  'api-keys-file': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'file with accepted API keys, one per line; callers must send one',
  },
  open: { type: 'boolean', description: 'on MainNet: settle for any seller' },
} as const satisfies { [name: string]: Option }

type Values = {
  'pay-to'?: string[] | undefined
  asset?: string[] | undefined
  rate?: string | undefined
  'caller-rate'?: string | undefined
  'min-amount'?: string | undefined
  'fee-budget'?: string | undefined
  'total-fee-budget'?: string | undefined
  'api-keys-file'?: string | undefined
}

export function readPolicy(options: Values): PolicyOptions {
  const keys = readApiKeys(options['api-keys-file'])
  return {
    payTo: checkedEach('--pay-to', options['pay-to'], Address.isValid, 'an Algorand address'),
    assets: checkedEach('--asset', options.asset, (id) => /^(0|[1-9][0-9]{0,19})$/.test(id), 'the id of an asset'),
    apiKeys: keys.length === 0 ? undefined : keys,
    requestsPerMinute: readNumber('--rate', options.rate, 0, 1_000_000_000),
    callerRequestsPerMinute: readNumber('--caller-rate', options['caller-rate'], 0, 1_000_000_000),
    minSponsoredAmount: readInteger('--min-amount', options['min-amount']),
    feeMicroAlgosPerDay: readInteger('--fee-budget', options['fee-budget']),
    totalFeeMicroAlgosPerDay: readInteger('--total-fee-budget', options['total-fee-budget']),
  }
}

/** A value that matches no payment would refuse all of them without any message at the start. */
function checkedEach(
  option: string,
  values: string[] | undefined,
  isValid: (value: string) => boolean,
  kind: string,
): string[] | undefined {
  const wrong = values?.find((value) => !isValid(value))
  if (wrong === undefined) return values
  throw new UsageError(`${option} ${quoted(wrong)} is not ${kind}`, { code: 'invalid_value' })
}

export type ClientAddress = (request: Request) => string | undefined

/**
 * Uses the last element, because proxies append the address that connected to them, and earlier ones are claims of the
 * client. Without a header, the address of the connection counts.
 */
export function addressFrom(header: string | undefined): ClientAddress | undefined {
  if (header === undefined) return undefined
  if (!/^[A-Za-z0-9-]+$/.test(header)) throw new UsageError('--client-ip-header must be the name of a header')
  return ({ headers }) => headers.get(header)?.split(',').at(-1)?.trim()
}

/**
 * Reads keys from the file, one per line, or from the environment, separated by commas. A file or variable without a
 * key is an error, because the facilitator would serve every caller.
 */
function readApiKeys(path: string | undefined): string[] {
  const text = path === undefined ? process.env['FACILITATOR_API_KEYS'] : readText(path)
  if (text === undefined) return []
  const keys = text
    .split(/[,\n]/)
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (keys.length === 0) throw new UsageError(`${path ?? 'FACILITATOR_API_KEYS'} contains no key`)
  return keys
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandError('file_unreadable', `the API keys cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/** With real money, an open facilitator without a limit must be an explicit choice. */
export function checkForProduction({ payTo, apiKeys, feeMicroAlgosPerDay }: PolicyOptions): void {
  const isRestricted = payTo !== undefined || apiKeys !== undefined
  if (isRestricted && feeMicroAlgosPerDay !== undefined) return
  throw new UsageError('on MainNet, sellers and fees must be limited', {
    hint: 'give --pay-to or --api-keys-file, and --fee-budget; or --open for any seller',
  })
}

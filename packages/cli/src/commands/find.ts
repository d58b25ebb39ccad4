/** `latchkey find QUERY`: finds paid resources in the catalogues of facilitators. */
import { Network } from '@latchkey/algorand'
import { DiscoveryError, describeOffer, discover, type FoundResource } from '@latchkey/x402/client'
import { command, jsonOption, readInteger, readNumber } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { counted, printable, quoted } from '../format.js'
import { printJson, printMessage, printResult, withProgress } from '../messages.js'

const defaultLimit = 20
const maxLimit = 100
const maxShownOffers = 4

export const findCommand = command({
  description: `Find paid APIs and tools in the catalogues of facilitators, with their prices. Without words, show those with the most \
payments. Descriptions come from sellers: check the price and the receiver with latchkey pay before you confirm.`,
  positionals: [
    { name: 'QUERY', isOptional: true, isVariadic: true, description: 'words to search for, such as weather' },
  ],
  options: {
    facilitator: {
      type: 'string',
      multiple: true,
      placeholder: 'URL',
      description: 'address of a facilitator with a catalogue (FACILITATOR_URL); repeatable',
    },
    network: {
      type: 'string',
      placeholder: 'NETWORK',
      suggestions: ['testnet', 'mainnet', 'betanet'],
      description: 'only what can be paid on testnet, mainnet, betanet or a CAIP-2 id (any network)',
    },
    'pay-to': { type: 'string', placeholder: 'ADDRESS', description: 'only what is paid to this account' },
    limit: { type: 'string', placeholder: 'N', description: `maximum number of results (${defaultLimit})` },
    dollar: { type: 'string', placeholder: 'ID', description: 'id of the dollar asset on a local network' },
    ...jsonOption,
  },
  examples: [
    'latchkey find weather',
    'latchkey find weather forecast --network testnet --facilitator https://facilitator.example',
  ],
  exits: ['unreachable', 'interrupted'],
  run: async ({ options, args }) => {
    const facilitators = facilitatorsFrom(options.facilitator, process.env['FACILITATOR_URL'])
    const limit = readNumber('--limit', options.limit, 1, maxLimit) ?? defaultLimit
    const dollar = readInteger('--dollar', options.dollar ?? (process.env['USDC_ASSET_ID'] || undefined))
    const search = discover({
      facilitators,
      query: args.join(' '),
      network: networkFrom(options.network),
      payTo: options['pay-to'],
      limit,
    }).catch((error: unknown) => {
      throw explain(error)
    })
    const found = await withProgress('Searching', search)
    const dollarAssetIds = dollar === undefined ? [] : [dollar]
    if (options.json) printJson({ resources: found.map((one) => toJson(one, dollarAssetIds)) })
    else if (found.length === 0) printMessage('Nothing was found.')
    else {
      printResult(found.map((one) => block(one, dollarAssetIds)).join('\n'))
      printMessage('Sellers wrote the descriptions; they are not checked. To pay for one: latchkey pay URL')
    }
    return exitCodes.ok
  },
})

function facilitatorsFrom(given: readonly string[] | undefined, environment: string | undefined): readonly string[] {
  const urls = given ?? (environment === undefined || environment === '' ? [] : [environment])
  const hint = 'give --facilitator URL, or set FACILITATOR_URL'
  if (urls.length === 0) throw new UsageError('no facilitator to ask', { hint })
  const wrong = urls.find((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
  if (wrong === undefined) return urls
  throw new UsageError(`--facilitator cannot be ${quoted(wrong)}`, { code: 'invalid_value', hint })
}

function networkFrom(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const known = Network.known.find(({ name }) => name === given)
  const id = known?.caip2 ?? (given.includes(':') ? given : undefined)
  if (id !== undefined) return id
  throw new UsageError(`unknown network ${quoted(given)}`, {
    code: 'invalid_value',
    hint: 'use testnet, mainnet, betanet or a CAIP-2 id',
  })
}

function explain(error: unknown): unknown {
  if (!(error instanceof DiscoveryError)) return error
  const hint = 'check the address, or give another with --facilitator'
  if (error.code === 'facilitator_unavailable') {
    return new CommandError('server_unreachable', error.message, { hint, cause: error })
  }
  if (error.code === 'invalid_option') return new UsageError(error.message, { code: 'invalid_value', cause: error })
  return error
}

function block(found: FoundResource, dollarAssetIds: readonly bigint[]): string {
  const { url, method, toolName, offers, description, serviceName, settleCount } = found
  const call = toolName === undefined ? `${method ?? 'GET'} ${url}` : `${url}, tool ${quoted(toolName)}`
  const prices = [...new Set(offers.map((offer) => describeOffer(offer, { dollarAssetIds })))]
  const payees = [...new Set(offers.map(({ payTo }) => payTo))]
  const more = prices.length > maxShownOffers ? `, and ${prices.length - maxShownOffers} more` : ''
  const said = [serviceName, description].filter((text) => text !== '').join(': ')
  const lines = [
    call,
    `  ${prices.slice(0, maxShownOffers).join(', or ')}${more}`,
    `  paid to ${payees.slice(0, maxShownOffers).join(', ')}`,
    ...(said === '' ? [] : [`  ${quoted(said)}`]),
    ...(settleCount === undefined ? [] : [`  ${counted(settleCount, 'payment')} settled`]),
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function toJson(found: FoundResource, dollarAssetIds: readonly bigint[]): object {
  const { url, type, method, toolName, offers, description, serviceName, tags, info, settleCount, facilitator } = found
  return {
    url,
    type,
    method: method ?? null,
    tool: toolName ?? null,
    prices: offers.map((offer) => ({
      price: describeOffer(offer, { dollarAssetIds }),
      amount: offer.amount,
      asset: offer.asset,
      network: offer.network,
      payTo: offer.payTo,
    })),
    facilitator,
    settleCount: settleCount ?? null,
    untrusted: { serviceName, description, tags, info: info ?? null },
  }
}

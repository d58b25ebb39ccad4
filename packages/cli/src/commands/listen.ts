/** `latchkey listen`: shows the events of a dev stack's seller live, and forwards them to a local URL. */
import { Access } from '@latchkey/http'
import { command, jsonOption } from '../Command.js'
import { daemonOptions } from '../daemon.js'
import { eventTypes } from '../dev/EventFeed.js'
import { readEvents } from '../dev/readEvents.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted, shortened } from '../format.js'
import { printJson, printLine, printMessage } from '../messages.js'

type Event = { readonly [name: string]: unknown }

const forwardMs = 10_000
const defaultSeller = 'http://127.0.0.1:4021'

export const listenCommand = command({
  description: `Show the payment events of a running dev stack's seller as they happen: required (402 sent), verified, settled, refused. With --forward-to, each \
event is also sent to a local URL, as a POST of its JSON. Stop with Ctrl-C.`,
  options: {
    'forward-to': {
      type: 'string',
      placeholder: 'URL',
      description: 'also POST each event to this URL on this machine',
    },
    only: {
      type: 'string',
      multiple: true,
      placeholder: 'EVENT',
      choices: eventTypes,
      description: 'only events of this type; repeatable',
    },
    seller: { type: 'string', placeholder: 'URL', description: `seller of a dev stack (${defaultSeller})` },
    'data-dir': daemonOptions['data-dir'],
    json: { ...jsonOption.json, description: 'print each event as one line of JSON' },
  },
  notes:
    "Events have the same members as those of a gate's hooks. Past events are not stored. To cause an event, run latchkey trigger.",
  examples: [
    'latchkey listen',
    'latchkey listen --forward-to http://127.0.0.1:3000/events --only settled',
    'latchkey listen --json',
  ],
  exits: ['unreachable', 'interrupted'],
  run: async ({ options }) => {
    const forwardTo = readForward(options['forward-to'])
    const only = new Set<string>(options.only ?? eventTypes)
    const seller = options.seller ?? process.env['RESOURCE_SERVER_URL'] ?? defaultSeller
    const url = `${seller.replace(/\/$/, '')}/events`
    for await (const event of readEvents(
      url,
      () => options.json || printMessage(`Listening at ${url}. Stop with Ctrl-C.`),
    )) {
      if (!only.has(String(event['type']))) continue
      const forwarded = forwardTo === undefined ? undefined : await forward(forwardTo, event)
      if (options.json) printJson(forwarded === undefined ? event : { ...event, forwarded })
      else printLine(lineOf(event, forwarded))
    }
    throw new CommandError('server_unreachable', 'the dev stack has stopped', { hint: 'start it with latchkey dev' })
  },
})

/** Events name payers, so they stay on this machine. */
function readForward(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && Access.isLoopbackOrigin(url.origin)) return url.href
  throw new UsageError('--forward-to takes a URL on this machine, such as http://127.0.0.1:3000/events', {
    code: 'invalid_value',
  })
}

/** Returns the status of the response, or why there is none. */
async function forward(url: string, event: Event): Promise<number | string> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'Content-Type': 'application/json', 'Latchkey-Event': String(event['type']) },
      body: JSON.stringify(event),
      signal: AbortSignal.timeout(forwardMs),
    })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    return cause?.code ?? (error as Error).name
  }
}

/** The buyer chose the path, and texts of the refusal. */
function lineOf(event: Event, forwarded: number | string | undefined): string {
  const { type, timeMs, method, path } = event
  const payment = (event['payment'] ?? {}) as Event
  const about: { readonly [type: string]: string } = {
    required: `402 sent: ${[event['prices']].flat().join(' or ')}`,
    verified: `${payment['amountText']} from ${shortened(String(payment['payer']))} is valid`,
    settled: `${payment['amountText']} from ${shortened(String(payment['payer']))} is paid: ${event['id']}`,
    refused: `refused: ${quoted(String(event['code']))}, ${quoted(String(event['message']).slice(0, 120))}`,
  }
  const time = new Date(Number(timeMs)).toISOString().slice(11, 19)
  const where = `${quoted(String(method))} ${quoted(String(path).slice(0, 60))}`
  const sent = forwarded === undefined ? '' : `  -> ${forwarded}`
  return `${time}  ${String(type).padEnd(8)}  ${where}  ${about[String(type)] ?? ''}${sent}`
}

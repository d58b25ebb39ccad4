// Writes docs/http.md from the routing tables of the servers.
import { routes } from '../packages/devnet/dist/RequestHandler.js'
import {
  apiErrors,
  bodyErrors,
  descriptionPath,
  errorsOf,
  handleErrors,
  metricsPath,
  operations,
  requestErrors,
  statusOf,
  walletFileErrors,
} from '../packages/kmd-api/dist/index.js'

export function httpPage() {
  return `${head()}\n${daemon()}\n${facilitator}\n${devnet()}`
}

function head() {
  return `# HTTP reference

Written by \`npm run docs\` from the tables that the servers are run by. Do not edit it.

- [The key daemon](#the-key-daemon)
- [The facilitator](#the-facilitator)
- [The devnet](#the-devnet)
`
}

/** The errors of refused agent signatures. */
const ruleErrors = [
  'agent_transaction_forbidden',
  'agent_network_forbidden',
  'agent_fee_too_high',
  'agent_validity_too_long',
  'agent_round_unknown',
  'agent_payee_denied',
  'agent_payee_unknown',
  'agent_asset_without_limit',
  'agent_limit_exceeded',
  'agent_approval_required',
  'agent_approval_denied',
]

function daemon() {
  const list = operations.map(
    ({ id, method, path, about }) => `| ${code(method)} | ${code(path)} | [${id}](#${id.toLowerCase()}) | ${about} |`,
  )
  return `## The key daemon

On \`http://127.0.0.1:7833\` by default; \`kmd.net\` in the data directory has the address. Every request carries
the API token, the first line of \`kmd.token\`, in the header \`X-KMD-API-Token\`. Bodies are JSON objects; a member that is
not listed is refused, one that is left out is zero, blank or empty. Bytes are read as base64 text and as an array of integers. How they
are written depends on the [wire](daemon.md#two-wires): where a response says "bytes" they are an array of
integers on the documented wire and base64 on the reference wire; "base64" is base64 on both.

On the documented wire every response has \`error\` (\`false\`) and \`message\` (blank) beside what is listed here; on the reference
wire these two, and empty lists, are left out. A failure is \`{"error": true, "message": "..."}\` on both; [errors.md](errors.md)
lists them all with what to do.

Any request may fail with ${codes(requestErrors)}; one with a body with
${codes(bodyErrors)}; one with a \`wallet_handle_token\` with
${codes(handleErrors)}; and one that opens a wallet's file with ${walletFileErrors.map(code).join(', ')}, whose status differs by operation.

A token of a [session of the console](daemon.md#the-console) goes in the place of the API token; some operations answer it with
${codes(['console_refused'])}. The files of the console are below \`/console/\`, without a token, for browsers on the machine of the
daemon; others get ${codes(['console_not_local'])}.

The token of an [agent](agents.md) goes in the place of the API token too, or as \`Authorization: Bearer\`. What an agent may not use is answered
with ${codes(['agent_operation_forbidden'])}, and one that may not sign now gets ${codes(['agent_paused', 'agent_suspended', 'agent_ended'])}. Signing can be refused by its rules:
${codes([...ruleErrors])}.
\`Latchkey-Refusal\` then has the rule, what was asked, what is left and when more is available, as JSON. A user that may not use the Unix socket gets
${codes(['forbidden_user'])}. A token of an agent, the console or the metrics that has too many requests under way gets ${codes(['too_many_connections'])}.

| | path | operation | |
|---|---|---|---|
${list.join('\n')}
| \`GET\` | ${code(descriptionPath)} | SwaggerHandler | Returns this list in OpenAPI 2. Without a token on the reference wire. |
| \`GET\` | ${code(metricsPath)} | GetMetrics | Returns metrics in the text format of Prometheus. |

${operations.map(operationText).join('\n')}`
}

function operationText(operation) {
  const { id, method, path, about, open, request, response, access } = operation
  const opening = {
    undefined: '',
    reference: ' Needs no token on the reference wire.',
    always: ' Needs no token.',
  }[String(open)]
  const rows = [
    ...request.flatMap((field) => fieldRows(field, 'request')),
    ...response.flatMap((member) => memberRows(member, '')),
  ]
  const table = rows.length === 0 ? '' : `\n| | member | is | |\n|---|---|---|---|\n${rows.join('\n')}\n`
  const empty = request.length === 0 && method !== 'GET' ? 'The body is `{}`. ' : ''
  const nothing = response.length === 0 ? 'The response has no members of its own. ' : ''
  const own = errorsOf(operation)
  const errors = own.length === 0 ? '' : `Fails with ${own.map((name) => errorText(operation, name)).join(', ')}.`
  const refused = access.console === 'allowed' ? '' : ' Refused to sessions of the console.'
  const rest = `${empty}${nothing}${errors}${refused}`.trim()
  return `### ${id}\n\n\`${method} ${path}\`. ${about}${opening}\n${table}${rest === '' ? '' : `\n${rest}\n`}`
}

function errorText(operation, name) {
  return `\`${name}\` (${statusOf(operation, name)})`
}

function codes(names) {
  return names.map((name) => `\`${name}\` (${apiErrors[name].status})`).join(', ')
}

function fieldRows({ name, kind, about, wire }, where) {
  const only = wire === undefined ? '' : ` (${wire} wire)`
  const row = `| ${where} | \`${name}\` | ${kindText(kind)} | ${about ?? ''}${only} |`
  return kind.type === 'object'
    ? [row, ...kind.fields.flatMap((field) => fieldRows({ ...field, name: `${name}.${field.name}` }, where))]
    : [row]
}

function kindText(kind) {
  const words = {
    text: 'text',
    name: 'text',
    ascii: 'text',
    bool: 'true or false',
    uint: 'integer',
    integer: 'integer as decimal text',
    uint8: 'integer up to 255',
    bytes: 'bytes',
    fixed: `${kind.length} bytes`,
    publicKey: '32 bytes, or an address',
    privateKey: 'bytes',
    object: 'object',
  }
  return kind.type === 'list' ? `list of ${kindText(kind.of)}` : (words[kind.type] ?? unknown(kind.type))
}

function memberRows({ name, shape, about }, before) {
  const path = `${before}${name}`
  const row = `| answer | \`${path}\` | ${shapeText(shape)} | ${about ?? ''} |`
  const inner = shape.type === 'list' ? shape.of : shape
  const end = shape.type === 'list' ? '[].' : '.'
  return inner.type === 'object'
    ? [row, ...inner.members.flatMap((member) => memberRows(member, `${path}${end}`))]
    : [row]
}

function shapeText(shape) {
  const words = {
    string: 'text',
    text: 'text',
    bool: 'true or false',
    uint: 'integer',
    integer: 'integer as decimal text',
    base64: 'base64',
    json: 'JSON',
    key: 'bytes',
    object: 'object',
  }
  return shape.type === 'list' ? `list of ${shapeText(shape.of)}` : (words[shape.type] ?? unknown(shape.type))
}

function unknown(type) {
  throw new Error(`docs-http.mjs has no word for the type ${type}`)
}

function code(text) {
  return `\`${text}\``
}

const facilitator = `## The facilitator

On \`http://127.0.0.1:4022\` by default. Requests and responses are those of x402, version 2; how to run it is in
[facilitator.md](facilitator.md). With API keys set, \`/verify\` and \`/settle\` ask for one, as \`Authorization: Bearer KEY\` or
\`X-API-Key: KEY\`.

| | path | body | answer |
|---|---|---|---|
| \`POST\` | \`/verify\` | \`x402Version\` (2), \`paymentPayload\`, \`paymentRequirements\`; \`claimant\` if a gate names itself and the resource: at most 128 letters, digits, \`-\` and \`_\` | \`isValid\`, \`payer\`; or \`invalidReason\`, \`invalidMessage\` |
| \`POST\` | \`/settle\` | the same | \`success\`, \`transaction\`, \`network\`, \`payer\`, \`amount\`; or \`errorReason\`, \`errorMessage\` |
| \`GET\` | \`/supported\` | | \`kinds\` (scheme, network, who pays fees), \`extensions\`, \`signers\` |
| \`GET\` | \`/livez\` | | 200: the process responds; nothing outside is asked |
| \`GET\` | \`/readyz\` | | 200 with \`status\` \`ready\`, or 503 with \`not ready\`; \`checks\`: \`name\`, \`network\`, \`status\`, \`since\`, \`reason\`; \`feeAccounts\`: \`network\`, \`address\`, \`status\`, \`since\`, \`balance\`, \`reason\`; \`warnings\` |
| \`GET\` | \`/health\` | | 200 with \`status\` \`ok\`, or 503 with \`unhealthy\` and a \`reason\`, as \`/readyz\` says; \`networks\`: \`network\`, \`name\`, \`lastRound\`, \`feeBalance\`; \`warnings\` if there are any |
| \`GET\` | \`/metrics\` | | the text format of Prometheus |

A payment that is refused is a response with status 200; the codes are in [payment-errors.md](payment-errors.md). Other
failures are \`{"error": "..."}\`: 400 for a body that is not of the form of the protocol, 401 without a key, 403 for a page of
another site, 404 and 405 for what is not in this table, 408 for a body that comes too slowly, 413 for more than 128 KiB, 415
for a body that is not \`application/json\`, 500 for a fault of the program.
`

function devnet() {
  const described = routes.filter(({ summary }) => summary !== undefined)
  const rows = described.map(
    ({ method, path, access, summary }) =>
      `| ${code(method)} | ${code(path)} | ${access === 'open' ? 'no' : 'yes'} | ${summary} |`,
  )
  return `## The devnet

On \`http://127.0.0.1:4001\` by default. The part of the algod API that it serves; what differs from a node is in
[devnet.md](devnet.md). A token is needed only if the devnet was started with one, in the header \`X-Algo-API-Token\`.

| | path | asks for a token | |
|---|---|---|---|
${rows.join('\n')}

Its own requests, money for the asking among them, are below \`/devnet\`: see [devnet.md](devnet.md#cheats).
`
}

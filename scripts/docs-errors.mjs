// Writes docs/errors.md from the error registries of the packages.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { publishedPackages, root } from './packages.mjs'

/** The introduction above the table of each package. */
const introductions = {
  '@latchkey/kmd': `An error response has the body \`{"error": true, "message": "..."}\`, a status, and the code in the header
\`Latchkey-Error\`. The texts that the Go daemon has too are its own, letter for letter. The status is the usual one: an
error that lies in the wallet or its file (a wrong password, a missing key, a damaged or locked file) is 401 where a
wallet is unlocked, 500 where a key is generated or something is listed or looked up, and 400 everywhere else, as with
the Go daemon. \`too_many_wrong_passwords\` and \`derivation_busy\` carry \`Retry-After\`, in seconds.`,
  '@latchkey/kmd-client': `The client's own codes. An error that the daemon sent has the [code of the daemon](#latchkeykmd).`,
  '@latchkey/x402': `The codes of [\`@latchkey/x402-wire\`](#latchkeyx402-wire) are in this registry too. Why a facilitator refuses a payment is in [payment-errors.md](payment-errors.md).`,
}

/** Returns every registry by package name, in dependency order. */
export async function registries() {
  const found = new Map()
  for (const { directory, manifest } of publishedPackages()) {
    const path = join(root, directory, 'dist', 'errors.js')
    if (existsSync(path)) found.set(manifest.name, (await import(pathToFileURL(path).href)).errors)
  }
  return found
}

export async function errorsPage() {
  const all = await registries()
  const listedElsewhere = { '@latchkey/kmd-client': '@latchkey/kmd', '@latchkey/x402': '@latchkey/x402-wire' }
  const sections = [...all].map(([name, errors]) => {
    const own = without(errors, all.get(listedElsewhere[name]) ?? {})
    return section(name, own)
  })
  return `# Errors

Written by \`npm run docs\` from the registries of the packages. Do not edit it.

Every error that a package throws on purpose extends \`LatchkeyError\` of \`@latchkey/algorand\`: \`code\` is stable and for
programs, \`message\` says what happened, \`hint\` what to do, \`cause\` what led to it. Each package exports its codes as
\`errors\`. A thrown error may say more than the message shown here.

\`\`\`ts
import { Address, LatchkeyError } from '@latchkey/algorand'

try {
  Address.decode('not an address')
} catch (error) {
  if (!(error instanceof LatchkeyError)) throw error
  console.log(error.code)
}
\`\`\`

\`\`\`
invalid_address
\`\`\`

${sections.join('\n')}`
}

/** The error codes of x402 on the wire, in the order in which a payment can meet them. */
const paymentGroups = [
  ['The payment is not valid', (code) => code.startsWith('invalid_') && !/simulation|settlement/.test(code)],
  ['The ledger rejects it, or has not confirmed it yet', (code) => /simulation|settlement/.test(code)],
  ['The facilitator itself', () => true],
]

export async function paymentErrorsPage() {
  const path = join(root, 'packages', 'x402', 'dist', 'facilitator', 'PaymentError.js')
  const { paymentErrors } = await import(pathToFileURL(path).href)
  const left = new Set(Object.keys(paymentErrors))
  const sections = paymentGroups.map(([title, belongs]) => {
    const codes = [...left].filter(belongs)
    for (const code of codes) left.delete(code)
    return section(title, Object.fromEntries(codes.map((code) => [code, paymentErrors[code]])))
  })
  return `# Why a payment was not accepted

Written by \`npm run docs\` from the registry of \`@latchkey/x402\`. Do not edit it.

A facilitator answers \`/verify\` with \`invalidReason\` and \`/settle\` with \`errorReason\`: one of these codes, and a text
about this payment beside it. A seller passes both on in the body of its 402 response (\`error\`, \`message\`). The codes of
the public scheme are its own; the others are Latchkey's. Codes that packages throw are in [errors.md](errors.md).

${sections.join('\n')}`
}

function section(name, errors) {
  const hasStatus = Object.values(errors).some(({ status }) => status !== undefined)
  const head = hasStatus
    ? '| code | status | message | what to do |\n|---|---|---|---|'
    : '| code | message | what to do |\n|---|---|---|'
  const rows = Object.entries(errors).map(([code, { status, message, hint }]) => {
    // A message with a status is sent on the wire, so it is shown verbatim.
    const text = status === undefined ? sentence(message) : `\`${message}\``
    const cells = [`\`${code}\``, ...(hasStatus ? [String(status ?? '')] : []), text, sentence(hint)]
    return `| ${cells.join(' | ')} |`
  })
  const introduction = introductions[name] === undefined ? '' : `${introductions[name]}\n\n`
  return `## ${name}\n\n${introduction}${head}\n${rows.join('\n')}\n`
}

function without(errors, others) {
  return Object.fromEntries(Object.entries(errors).filter(([code]) => !(code in others)))
}

function sentence(text) {
  // Identifiers keep their case.
  const begun = /^[a-z]+[A-Z_.]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return (/[.!?]$/.test(begun) ? begun : `${begun}.`).replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

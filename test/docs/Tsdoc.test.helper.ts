/** Extracts the `@example` blocks of TSDoc from the sources, and completes each to a module that the compiler can check. */
import { readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { isTest, root, sources } from '../structure/sources.test.helper.js'

export type Example = {
  /** The source file, as a path from the root. */
  readonly file: string
  readonly line: number
  readonly code: string
}

export function tsdocExamples(): Example[] {
  return sources('packages')
    .filter((file) => /\/src\//.test(file) && !isTest(file))
    .flatMap(examplesIn)
}

function examplesIn(file: string): Example[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/@example\n(?<body>.*?)\n *(?:\*\/|\* @)/gs)].map(({ index, groups }) => ({
    file,
    line: text.slice(0, index).split('\n').length,
    code: groups!['body']!.replaceAll(/^ *\* ?/gm, '').replaceAll(/^```.*$/gm, ''),
  }))
}

/** The compiled module that contains the documented export. */
export const compiledPath = ({ file }: Example): string =>
  join(root, file.replace('/src/', '/dist/').replace(/\.tsx?$/, '.js'))

/** Names that examples import, by the module that exports them. A documented module comes before them. */
const imports: { readonly [module: string]: string } = {
  '@latchkey/algorand': 'Address, Bytes, Transaction',
  '@latchkey/http': 'Server, toNodeListener',
  '@latchkey/kmd-client': 'Kmd',
  '@latchkey/mcp/wallet': 'AgentWallet, newWalletServer',
  '@latchkey/x402/client': 'Buyer, Chain, fromAgent, payingFetch, receiptOf',
  '@latchkey/x402/facilitator': 'createFacilitatorHandler',
  '@latchkey/x402/file': 'FilePayments',
  '@latchkey/x402/sqlite': 'SqliteSettlements',
  '@modelcontextprotocol/server/stdio': 'serveStdio',
  'node:http': 'createServer',
  hono: 'Hono',
  ws: 'WebSocketServer',
}
const wholeImports = { algosdk: "import * as algosdk from 'algosdk'", express: "import express from 'express'" }

/** The types of values that examples use without declaring them. */
const values: { readonly [name: string]: string } = {
  agent: "import('@latchkey/kmd-client').AgentClient",
  algorand: "import('@algorandfoundation/algokit-utils').AlgorandClient",
  apiKeyName: 'string',
  app: "import('express').Express",
  askAgain: '() => void',
  askOperator: '() => Promise<string>',
  buyer: "import('@latchkey/x402/client').Buyer",
  chain: "import('@latchkey/x402/client').Chain",
  claims: "import('@latchkey/x402/sqlite').SqliteClaims",
  client: "import('@modelcontextprotocol/client').Client",
  composer: "import('algosdk').AtomicTransactionComposer",
  devnet: "import('@latchkey/devnet').Devnet",
  encoded: 'Uint8Array',
  fetch: "import('@latchkey/http').FetchHandler",
  facilitator: "import('@latchkey/x402/facilitator').Facilitator",
  feePayer: "import('@latchkey/x402/facilitator').Signer.Signer",
  gate: "import('@latchkey/x402/server').Gate",
  kmd: "import('@latchkey/kmd-client').Kmd",
  listener: "import('node:http').RequestListener",
  response: "import('node:http').ServerResponse",
  signer: "import('@latchkey/x402/client').Signer.Signer",
  transaction: 'Uint8Array',
  txn: "import('algosdk').Transaction",
  update: '() => void',
  wallet: "import('@latchkey/kmd-client').Wallet",
  ...Object.fromEntries(
    ['address', 'dataDir', 'id', 'multisigAddress', 'network', 'password', 'payTo', 'sender', 'text', 'title', 'token']
      .concat('url', 'walletId')
      .map((name) => [name, 'string']),
  ),
}

/** Values that mean something else in the examples of one file, by the end of its path. */
const exceptions: { readonly [end: string]: { readonly [name: string]: string } } = {
  'algorand/src/Description.ts': { transaction: "import('@latchkey/algorand').Transaction.Transaction" },
  'kmd-client/src/Wallet.ts': { transaction: "import('algosdk').Transaction" },
  'newWalletServer.ts': { wallet: "import('@latchkey/mcp/wallet').AgentWallet" },
  'ToolGate.ts': {
    server: "import('@modelcontextprotocol/server').McpServer",
    gate: "import('@latchkey/mcp/server').ToolGate",
  },
  'AlgorandClientScheme.ts': { client: "import('@x402/core/client').x402Client" },
  'AlgorandFacilitatorScheme.ts': { facilitator: "import('@x402/core/facilitator').x402Facilitator" },
  'AlgorandServerScheme.ts': { server: "import('@x402/core/server').x402ResourceServer" },
  'fastify.ts': { app: "import('fastify').FastifyInstance" },
  'salesPage.ts': { app: "import('hono').Hono" },
  'upgradeGate.ts': { server: "import('node:http').Server" },
  'Readable.ts': { transaction: 'Parameters<typeof Readable.payment>[0]' },
  'Gateway.ts': { upstream: "import('@latchkey/x402/gateway').Upstream" },
  'paywall.ts': {
    required: "Parameters<typeof paywallPage>[0]['required']",
    offers: "Parameters<typeof paywallPage>[0]['offers']",
  },
}

/** Returns a module with the example in it, in a directory from which its imports resolve. */
export function moduleOf(example: Example, directory: string): string {
  const { file, code } = example
  const plain = code.replaceAll(/\/\/.*$/gm, '').replaceAll(/'[^'\n]*'/g, "''")
  const isUsed = (name: string): boolean => new RegExp(`(?<![.\\w$])${name}(?![\\w$])`).test(plain)
  const own = ownNames(example).filter(isUsed)
  const path = relative(directory, compiledPath(example))
  const lines = own.length === 0 ? [] : [`import { ${own.join(', ')} } from '${path}'`]
  const namespace = basename(file, '.ts')
  const isNamespace = !own.includes(namespace) && plain.includes(`${namespace}.`) && /^[A-Z]/.test(namespace)
  if (isNamespace) lines.push(`import * as ${namespace} from '${path}'`)
  const taken = new Set(isNamespace ? [...own, namespace] : own)
  for (const [module, names] of Object.entries(imports)) {
    const wanted = names.split(', ').filter((name) => isUsed(name) && !taken.has(name))
    if (wanted.length > 0) lines.push(`import { ${wanted.join(', ')} } from '${module}'`)
  }
  for (const [name, line] of Object.entries(wholeImports)) if (isUsed(name)) lines.push(line)
  const [, special = {}] = Object.entries(exceptions).find(([end]) => file.endsWith(end)) ?? []
  for (const [name, type] of Object.entries({ ...values, ...special })) {
    if (isUsed(name)) lines.push(`declare const ${name}: ${type}`)
  }
  return `${lines.join('\n')}\nexport async function example() {\n${code}\n}\n`
}

function ownNames(example: Example): string[] {
  const declarations = readFileSync(compiledPath(example).replace(/\.js$/, '.d.ts'), 'utf8')
  const names = declarations.matchAll(/^export declare (?:abstract )?(?:class|function|const) (\w+)/gm)
  return [...new Set([...names].map(([, name]) => name!))]
}

/** Returns the expressions of an example that are followed by their value, as in `Amount.format(15n, 1) // '1.5'`. */
export function shownValues({ code }: Example): { expression: string; value: string }[] {
  return [...code.matchAll(/^([A-Z]\w*\..+?|[a-z]\w*\(.*\))(?: |\n)\/\/ (['{\d].*)$/gm)]
    .map(([, expression, value]) => ({ expression: expression!, value: value! }))
    .filter(({ value }) => !/…|\.\.\./.test(value))
}

/**
 * Defines what the pages may assume, in tables: which blocks are drawings, which commands keep running, which are not
 * run and why, and which ports and directories of code are replaced. Commands run as printed, except for their ports.
 */

/** Blocks without a language that are drawings: a page, and words in the drawing. */
export const pictures: readonly (readonly [page: string, words: string])[] = [
  ['README.md', '── GET /weather'],
  ['docs/README.md', '── GET /weather'],
  ['docs/architecture.md', 'cli (latchkey)'],
  ['docs/gateway.md', 'buyer ── request'],
  ['docs/security.md', '│ wallet files'],
  ['packages/algod/README.md', 'Algod ── NodePool'],
  ['packages/algorand/README.md', 'bytes from a client'],
  ['packages/avm/README.md', 'source ── Token'],
  ['packages/cli/README.md', 'bin/latchkey.js ── latchkey.ts'],
  ['packages/devnet/README.md', 'server ── RequestHandler'],
  ['packages/http/README.md', 'socket ─► Connection'],
  ['packages/http-client/README.md', 'createTransport ─┬─ Node'],
  ['packages/kmd-api/README.md', 'kmd-api ── operations'],
  ['packages/kmd-client/README.md', 'Kmd ── Wallets'],
  ['packages/kmd/README.md', 'socket ── @latchkey/http'],
  ['packages/kmd/README.md', 'latchkey console ── API token'],
  ['packages/mcp/README.md', 'client ── payingCallTool'],
  ['packages/pages/README.md', 'console/  preact ─►'],
  ['packages/pages/README.md', 'SendView, OptInView ─►'],
  ['packages/system/README.md', 'take(path) ──►'],
  ['packages/x402-wire/README.md', '402 ── PAYMENT-REQUIRED'],
  ['packages/x402/README.md', 'buyer ───'],
]

/** Sections that other tests follow, the first one in an empty folder (`selling.test.ts`): a page, and the heading. */
export const followedElsewhere: readonly (readonly [page: string, section: string])[] = [
  ['docs/selling.md', 'A shop in an empty folder'],
  // In an empty folder, typed as printed (`publish/journeys.test.ts`).
  ['docs/tutorial.md', 'Write the API'],
  ['docs/tutorial.md', 'Pay on your machine'],
  // By the compiler (`structure/add-operation.test.ts`).
  ['CONTRIBUTING.md', 'Changes to the API'],
  // With PostgreSQL, nginx and Prometheus (`operating/deploying.test.ts`).
  ...['Database', 'Replicas', 'Balancer', 'A paid request', 'Watching it', 'A rolling restart'].map(
    (section) => ['docs/deploying.md', section] as const,
  ),
]

/** Code of the pages, and the code that is run instead. Everything on the right is in `Provided`. */
export const codeRewrites: readonly (readonly [string | RegExp, string])[] = [
  ["'/home/you/.latchkey/kmd-v0.5'", 'dataDir'],
  [
    /Chain\.open\(\{ network: '(mainnet|testnet)'(, nodes: [^\]]*\])? \}\)/g,
    "Chain.open({ ...chainOptions, network: '$1' })",
  ],
  ["'http://127.0.0.1:4001'", 'devnet.url'],
  ["'http://127.0.0.1:4022'", 'facilitatorUrl'],
  [/'https:\/\/[a-z0-9]+\.example\.com'/g, 'facilitatorUrl'],
  ["'https://example.com/weather'", 'shopUrl'],
  ["'https://example.com/mcp'", 'paidToolsUrl'],
  ['paymentGate({ payTo,', 'paymentGate({ chains: chain, payTo,'],
  // A key that the block itself created.
  ['signTransaction(transactionBytes)', 'signTransaction(transactionFrom(address))'],
  [/(\.listen\((?:'127\.0\.0\.1', )?)(?:40[0-9]{2}|7833)\b/g, '$10'],
  [/port: 40[0-9]{2}/g, 'port: 0'],
  [/(Payments|Settlements|Claims|PassCache)\('([\w.-]+)'\)/g, "$1(fileIn('$2'))"],
  [/(take|replaceSync)\('([\w.-]+)'/g, "$1(fileIn('$2')"],
  [/stateFile: '([\w.-]+)'/g, "stateFile: fileIn('$1')"],
]

/** Ports that pages name. Each page is run with free ports instead. */
export const knownPorts: readonly number[] = [4001, 4002, 4021, 4022, 4030, 7833, 8403]

/** Commands that run until they are stopped, and the output that shows they are ready. */
export const longRunning: readonly { readonly command: RegExp; readonly ready: RegExp }[] = [
  { command: /^(?!.*(--help| -- )).*\blatchkey dev( |$)|^npm start$/, ready: /To stop everything, press Ctrl-C\.\n/ },
  { command: /^(?!.*--help).*\blatchkey devnet\b(?! accounts)/s, ready: /Try it:\n.*\n\n|^\{.*\}\n$/s },
  { command: /^(?!.*--help).*\blatchkey kmd\b/s, ready: /Try it:\n.*\n\n|^\{.*\}\n$/s },
  { command: /^(?!.*--help).*\blatchkey facilitator\b/s, ready: /Try it:\n.*\n\n|^\{.*\}\n$/s },
  { command: /^(?!.*--help).*\blatchkey proxy\b/s, ready: /Payments {2}\S+\n\n/ },
  { command: /^(?:\w+=\S+ )*node (examples\/\w+\/seller|seller|shop|api)\.js$/, ready: /Listening at http/ },
  { command: /\bdist\/seller\.js\b/, ready: /Facilitator: / },
]

/** Commands that are not run, and why. The names they mention are still checked. */
export const notRun: readonly (readonly [RegExp, string])[] = [
  [/^npm (test|run (bench|build|coverage|docs|format|pack|test))\b/, 'it is what runs this test, or takes minutes'],
  [/^node scripts\/build/, 'it was done before the tests began'],
  [
    /^(sudo )?(systemctl|systemd-run|journalctl|podman|docker|kubectl|install|useradd|latchkey service)\b|^npm install --global/,
    'it changes the machine',
  ],
  [/^(npx )?latchkey dev -- npm test$/, 'it is what runs this test'],
  [/^goal /, 'it is not ours, and not installed'],
  [/--network testnet\b|^AVM_NETWORK=testnet /, 'it needs TestNet, and money there'],
  [/^latchkey facilitator .*(@db\.example|--key FIRST)/, 'its database or its keys are of the reader'],
  [/^sh deploy\/compose\/secrets\.sh$/, 'it writes into the clone; `compose.test.ts` runs it elsewhere'],
]

type PortOf = (shown: number) => number

/** Commands that take their port only from arguments or the environment. */
export const commandRewrites: readonly (readonly [RegExp, (found: string, portOf: PortOf) => string])[] = [
  [/\blatchkey devnet\b(?! accounts)(?!.*(--port|-p ))/, (found, portOf) => `${found} --port ${portOf(4001)}`],
  [/\blatchkey facilitator\b(?!.*(--port|-p ))/, (found, portOf) => `${found} --port ${portOf(4022)}`],
  [/\blatchkey proxy\b(?!.*(--port|-p )).*/, (found, portOf) => `${found} --port ${portOf(8403)}`],
  [/\blatchkey dev\b(?!.*--any-port)/, (found) => `${found} --any-port`],
  [/^node examples\/\w+\/seller\.js$/, (found, portOf) => `PORT=${portOf(4030)} ${found}`],
  [/\bnode examples\/weather\/dist\/seller\.js/, (found, portOf) => `PORT=${portOf(4021)} ${found}`],
  [
    /\bnode examples\/weather\/dist\/buyer\.js/,
    (found, portOf) => `RESOURCE_SERVER_URL=http://127.0.0.1:${portOf(4021)} ${found}`,
  ],
]

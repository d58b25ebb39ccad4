/** Checks the daemon, the node, the facilitator, and the balance of the paying account. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Amount, Network } from '@latchkey/algorand'
import { Kmd, KmdClientError } from '@latchkey/kmd-client'
import { type Chain, Funds } from '@latchkey/x402/client'
import { commandFor, foreignCure } from '../daemon.js'
import { clientExits } from '../exitCodes.js'
import { explained } from '../explained.js'
import { counted, shortened } from '../format.js'
import { type Finding, fault, ok, warning } from './Finding.js'

const timeoutMs = 5_000

export async function checkDaemon(dataDir: string): Promise<Finding[]> {
  try {
    const kmd = await Kmd.connect({ dataDir, timeoutMs })
    try {
      const { version, wallets, openHandles, walletProblems, sameUserAgents, suspendedAgents } = await kmd.health()
      const text = `the daemon ${version} is running at ${kmd.address}: ${counted(wallets, 'wallet')}, ${counted(openHandles, 'open handle')}`
      const agents = [...checkAgents(sameUserAgents), ...checkSuspended(suspendedAgents)]
      if (walletProblems.length === 0) return [ok(text), ...agents]
      const problems = shortList(walletProblems.map(({ file, problem }) => `${file} ${problem}`))
      const cure = 'restore the file from a backup, or move it elsewhere'
      return [warning(`${text}, but ${problems}`, cure), ...agents]
    } finally {
      kmd.close()
    }
  } catch (error) {
    return [explainDaemon(dataDir, error)]
  }
}

/** A program that runs as the daemon's own user can read its files. */
function checkAgents(names: readonly string[]): Finding[] {
  if (names.length === 0) return []
  return [
    warning(
      `${agentsText(names)}: used by the daemon's user or by root, who can read its files and so bypass every limit`,
      'run the daemon as its own user (sudo latchkey service install --system), or run the agent as another user',
    ),
  ]
}

function checkSuspended(names: readonly string[]): Finding[] {
  if (names.length === 0) return []
  const why = 'suspended, because the state database was rolled back or damaged'
  return [fault(`${agentsText(names)}: ${why}`, 'review their budgets, then run: latchkey agent confirm')]
}

function agentsText(names: readonly string[]): string {
  return `${names.length === 1 ? 'agent' : 'agents'} ${shortList(names, ', ')}`
}

/** States how many items are omitted. The daemon itself lists at most 100. */
function shortList(texts: readonly string[], separator = '; '): string {
  const more =
    texts.length > 10 ? `${separator}and ${texts.length - 10}${texts.length >= 100 ? ' or more' : ''} others` : ''
  return `${texts.slice(0, 10).join(separator)}${more}`
}

function explainDaemon(dataDir: string, error: unknown): Finding {
  if (!(error instanceof KmdClientError)) throw error
  if (error.code === 'invalid_token')
    return fault(
      'the daemon does not accept the token in kmd.token',
      `restart the daemon, or run ${commandFor('token rotate', dataDir)}`,
    )
  if (error.code === 'foreign_listener') return fault(error.message, foreignCure)
  if (error.code === 'daemon_not_running') return explainNotRunning(dataDir, error)
  if (clientExits[error.code] === 'unreachable')
    return fault(`the daemon does not respond: ${error.message}`, `start it: ${commandFor('kmd', dataDir)}`)
  return warning(
    `another program listens at the daemon's address: ${error.message}`,
    "the Go daemon also works, but without Latchkey's additional operations",
  )
}

/** A killed daemon leaves its address behind. One that was stopped, or never ran, has none. */
function explainNotRunning(dataDir: string, { message }: KmdClientError): Finding {
  const cure = `start it: ${commandFor('kmd', dataDir)}`
  if (!existsSync(join(dataDir, 'kmd.net'))) return fault(`the daemon is not running: ${message}`, cure)
  return fault(`the daemon was killed and left kmd.net behind: ${message}`, cure)
}

export async function checkNode(open: () => Promise<Chain>): Promise<{ finding: Finding; chain?: Chain }> {
  try {
    const chain = await open()
    await chain.parameters()
    return {
      finding: ok(`a node of ${Network.describe(chain.caip2)} responds, at round ${await chain.algod.lastRound()}`),
      chain,
    }
  } catch (error) {
    return {
      finding: fault(
        `no node responds: ${explained(error).message}`,
        'give a node with --node and its network with --network, or run a local one: latchkey devnet',
      ),
    }
  }
}

export async function checkPayer(chain: Chain, address: string): Promise<Finding[]> {
  try {
    const { microAlgos, minBalance } = await chain.algod.account(address)
    const free = microAlgos > minBalance ? microAlgos - minBalance : 0n
    const findings = [ok(`${shortened(address)} has ${Amount.formatAlgos(free)} to spend`)]
    if (chain.dollarAssetId === undefined) return findings
    return [...findings, await checkDollars(chain, address, chain.dollarAssetId)]
  } catch (error) {
    return [
      fault(
        `${shortened(address)} could not be looked up: ${(error as Error).message}`,
        'check KMD_KEY or AVM_ADDRESS',
      ),
    ]
  }
}

async function checkDollars(chain: Chain, address: string, assetId: bigint): Promise<Finding> {
  const { name, decimals } = await chain.asset(assetId)
  const holding = await chain.algod.holding(address, assetId)
  if (holding === undefined)
    return warning(`${shortened(address)} is not opted in to ${name}`, Funds.optInCommand(chain, address, assetId))
  if (holding.isFrozen)
    return fault(`the ${name} of ${shortened(address)} is frozen`, 'contact the issuer of the asset')
  if (holding.amount === 0n)
    return warning(`${shortened(address)} has no ${name}`, Funds.fundCommand(chain, address, `1 #${assetId}`))
  return ok(`${shortened(address)} has ${Amount.formatGrouped(holding.amount, decimals)} ${name}`)
}

/** Each network is named twice, by both of its ids. */
const maxKinds = 20

export async function checkFacilitator(url: string): Promise<Finding> {
  const cure = 'start one: latchkey facilitator; or set FACILITATOR_URL to a running one'
  try {
    const response = await fetch(new URL('supported', url.endsWith('/') ? url : `${url}/`), {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    })
    const { kinds } = (await response.json()) as { kinds?: { network?: unknown }[] }
    if (!response.ok || !Array.isArray(kinds)) return fault(`${url} responds, but is not a facilitator`, cure)
    const networks = new Set(kinds.slice(0, maxKinds).map(({ network }) => Network.describe(String(network))))
    return ok(`the facilitator at ${url} serves ${[...networks].join(', ')}`)
  } catch (error) {
    return fault(`the facilitator at ${url} does not respond: ${(error as Error).message}`, cure)
  }
}

/** Reads the settings of a fault test's processes from the environment. */
import { Chain } from '@latchkey/x402/client'

/** @throws if it is not set */
export function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

export const settings = {
  /** The name of this process, in its log. */
  name: (): string => setting('FAULTS_NAME'),
  /** The directory of all logs. */
  directory: (): string => setting('FAULTS_DIRECTORY'),
  /** The address to listen on. */
  host: (): string => setting('FAULTS_HOST'),
  nodes: (): string[] => setting('FAULTS_NODES').split(','),
  /** The accounts that are paid. The first one gets enough payments to exhaust its fee budget. */
  payTos: (): string[] => setting('FAULTS_PAY_TOS').split(','),
  /** The fault planted in this process, which the checker has to find. */
  plant: (): string | undefined => process.env['FAULTS_PLANT'] || undefined,
}

export const port = 8_402
/** The ledger uses the name of TestNet, because payments on a local network do not expire soon. */
export const network = 'testnet'
export const dollarAssetId = 10_458_941n
/** The timeout of a payment. A local ledger makes that many rounds in less than a minute. */
export const maxTimeoutSeconds = 300

/**
 * Longer, because another gate charges the stream of a killed one after 45 seconds, or 105 if its clock was ahead, and must
 * find the authorization valid. It is valid for 448 blocks, which take 180 seconds.
 */
export const maxUsageSeconds = 1_000

/** Opens the ledger through the nodes in this process's settings. */
export function openChain(): Promise<Chain> {
  const nodes = settings.nodes()
  return untilItWorks(() => Chain.open({ network, nodes, timeoutMs: 2_000 }))
}

/** Tells the test that the process is serving. */
export function ready(): void {
  process.stdout.write('ready\n')
}

/** Retries until the work succeeds, because its dependencies may be down. */
export async function untilItWorks<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 40) throw error
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

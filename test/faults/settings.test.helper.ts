/** What the processes of a fault test are told by their environment. */
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
  /** The accounts that are paid. To the first one goes so much that its fee budget is reached. */
  payTos: (): string[] => setting('FAULTS_PAY_TOS').split(','),
  /** The fault that is planted in this process, for a checker that has to find it. */
  plant: (): string | undefined => process.env['FAULTS_PLANT'] || undefined,
}

export const port = 8_402
/** The ledger goes by the name of TestNet: on a network that is known to be local, payments do not expire soon. */
export const network = 'testnet'
export const dollarAssetId = 10_458_941n
/** Of a payment: a local ledger makes so many rounds in less than a minute. */
export const maxTimeoutSeconds = 300

/** The ledger, by the nodes that this process is told. */
export function openChain(): Promise<Chain> {
  const nodes = settings.nodes()
  return untilItWorks(() => Chain.open({ network, nodes, timeoutMs: 2_000 }))
}

/** Tells the test that the process serves. */
export function ready(): void {
  process.stdout.write('ready\n')
}

/** Until it works: what it needs may be down. */
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

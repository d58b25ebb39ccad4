/** A data directory with which `goal` uses a devnet: the files that a node writes for its clients, without a node. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Devnet } from '@latchkey/devnet'
import { CommandError, UsageError } from '../errors.js'

const genesisFile = 'genesis.json'
const addressFile = 'algod.net'
const tokenFile = 'algod.token'

/** `goal` refuses other tokens. */
const tokenPattern = /^[!-~]{64,256}$/
/** A devnet without a required token accepts any token. */
const anyToken = 'a'.repeat(64)

/** @throws UsageError if `goal` would refuse the token. */
export function checkToken(token: string | undefined): void {
  if (token === undefined || tokenPattern.test(token)) return
  throw new UsageError('--goal-dir requires a --token of 64 to 256 characters, as goal does', { code: 'invalid_value' })
}

/**
 * Writes the directory for a running devnet. An existing devnet directory is updated.
 *
 * @returns A function that removes the address, as a node does when it stops.
 * @throws CommandError if the directory cannot be written, or is that of a node of another network.
 */
export function writeGoalDirectory(directory: string, devnet: Devnet): () => void {
  const address = `${new URL(devnet.url).host}\n`
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    refuseOtherNetwork(directory, devnet)
    // goal stores and looks for participation keys there.
    mkdirSync(join(directory, devnet.genesisId), { recursive: true, mode: 0o700 })
    writeFileSync(join(directory, genesisFile), devnet.genesis)
    writeFileSync(join(directory, tokenFile), devnet.token ?? anyToken, { mode: 0o600 })
    // Written last, because goal considers the node running once it exists.
    writeFileSync(join(directory, addressFile), address)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError('file_unwritable', `${directory} could not be written: ${(cause as Error).message}`, {
      cause,
    })
  }
  return () => {
    if (readIfAny(join(directory, addressFile)) === address) rmSync(join(directory, addressFile), { force: true })
  }
}

/** Every devnet has the same faucet. A genesis without it belongs to a real node, whose files must not be replaced. */
function refuseOtherNetwork(directory: string, { faucet }: Devnet): void {
  const genesis = readIfAny(join(directory, genesisFile))
  const isNew = genesis === undefined && readIfAny(join(directory, tokenFile)) === undefined
  if (isNew || genesis?.includes(faucet.address)) return
  throw new CommandError('invalid_file', `${directory} is another node's data directory`, {
    hint: "give a new directory, or an earlier devnet's",
  })
}

function readIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

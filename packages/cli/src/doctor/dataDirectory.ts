/** Checks the data directory of the daemon: its files, their permissions, and the settings. */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { Config, checkWalletFile } from '@latchkey/kmd'
import { commandFor } from '../daemon.js'
import { counted } from '../format.js'
import { type Finding, fault, ok, warning } from './Finding.js'

/**
 * `isDevStack` means that a running `latchkey dev` created the directory, which is intentionally public and quick to
 * open.
 */
export async function checkDirectory(dataDir: string, { isDevStack = false } = {}): Promise<Finding[]> {
  const directory = statOf(dataDir)
  if (directory === undefined)
    return [fault(`${dataDir} does not exist`, `create it and start the daemon: ${commandFor('kmd', dataDir)}`)]
  if (!directory.isDirectory()) return [fault(`${dataDir} is not a directory`, 'give another with --data-dir')]
  const { config, findings } = checkSettings(dataDir, isDevStack)
  const wallets = config === undefined ? [] : await checkWallets(Config.walletsDirectory(config, dataDir))
  return [checkOwner(dataDir, directory), ...checkToken(dataDir, isDevStack), ...findings, ...wallets]
}

function checkOwner(dataDir: string, { uid, mode }: Stats): Finding {
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own)
    return fault(`${dataDir} belongs to another user`, "run latchkey doctor as the daemon's user")
  if ((mode & 0o077) !== 0) return warning(`other users can read ${dataDir}`, `chmod 700 ${dataDir}`)
  return ok(`${dataDir} is readable by its owner only`)
}

function checkToken(dataDir: string, isDevStack: boolean): Finding[] {
  const path = join(dataDir, 'kmd.token')
  const file = statOf(path)
  if (file === undefined) return [warning('no API token exists yet', `start the daemon: ${commandFor('kmd', dataDir)}`)]
  const findings: Finding[] = []
  if ((file.mode & 0o077) !== 0) findings.push(warning(`other users can read ${path}`, `chmod 600 ${path}`))
  const token = readText(path)
  if (token === undefined) findings.push(fault(`${path} cannot be read`, "run latchkey doctor as the daemon's user"))
  else if (/^a{64}\s*$/.test(token))
    findings.push(
      isDevStack
        ? ok("the API token is LocalNet's public one, as intended in a dev stack")
        : warning(
            "the API token is LocalNet's, which is public",
            `on a machine with real keys: ${commandFor('token rotate', dataDir)}`,
          ),
    )
  return findings.length > 0 ? findings : [ok('the API token exists and is readable by its owner only')]
}

function checkSettings(dataDir: string, isDevStack: boolean): { config?: Config.Config; findings: Finding[] } {
  const text = readText(join(dataDir, 'kmd_config.json'))
  let config = Config.defaults
  try {
    if (text !== undefined) config = Config.parse(text)
    Config.validate(config)
  } catch (error) {
    const cure = 'correct it; kmd_config.json.example shows every setting'
    return { findings: [fault(`kmd_config.json: ${(error as Error).message}`, cure)] }
  }
  const findings = text === undefined ? [] : misspelt(text)
  if (config.allowedOrigins.includes('*'))
    findings.push(warning('any web page may call the daemon', 'list the origins in allowed_origins instead of *'))
  if (config.allowUnsafeScrypt)
    findings.push(
      isDevStack
        ? ok('password derivation is weak (allow_unsafe_scrypt), as intended in a dev stack')
        : warning('password derivation is weak (allow_unsafe_scrypt)', 'remove it from kmd_config.json'),
    )
  if (!/^(|127\.[0-9.]+:[0-9]+|localhost:[0-9]+|\[::1\]:[0-9]+|:[0-9]+)$/.test(config.address))
    findings.push(
      warning(`the daemon listens on ${config.address}, without encryption`, 'set address to 127.0.0.1:7833'),
    )
  return { config, findings: findings.length > 0 ? findings : [ok('the settings are valid')] }
}

/** The daemon ignores an unknown name, so the operator's intended setting has no effect. */
function misspelt(text: string): Finding[] {
  const cure = 'correct the name, or remove it; latchkey config show lists every setting'
  return Config.unknownSettings(text).map((problem) => fault(problem, cure))
}

/** Checks every file that the daemon would treat as a wallet, with the daemon's own checks. */
async function checkWallets(directory: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let whole = 0
  for (const file of walletFiles(directory)) {
    const path = join(directory, file)
    const problem = await checkWalletFile(path)
    if (problem === undefined) whole++
    else findings.push(fault(`the wallet file ${path} ${problem}`, 'restore it from a backup, or move it elsewhere'))
  }
  return [...findings, ok(counted(whole, 'wallet file'))]
}

function walletFiles(directory: string): string[] {
  try {
    const isDirectory = (name: string): boolean => statOf(join(directory, name))?.isDirectory() === true
    return readdirSync(directory).filter((name) => name.endsWith('.db') && !isDirectory(name))
  } catch {
    return []
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** The machine and the environment. */
import { spawnSync } from 'node:child_process'
import { type Finding, fault, ok, warning } from './Finding.js'

const oldestNode = [20, 19] as const

export function checkMachine(environment: { readonly [name: string]: string | undefined }): Finding[] {
  return [checkNode(process.versions.node), checkFlock(), ...checkSecrets(environment)]
}

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestNode
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok(`Node ${version}`)
  return fault(`Node ${version} is too old`, `install Node ${oldestNode.join('.')} or newer`)
}

/** The daemon cannot lock its directory without it. */
function checkFlock(): Finding {
  if (process.platform !== 'linux') return warning(`${process.platform} is not tested`, 'run it on Linux')
  const { error } = spawnSync('flock', ['--version'], { stdio: 'ignore' })
  return error === undefined ? ok('flock is there') : fault('there is no flock', 'install the package util-linux')
}

function checkSecrets(environment: { readonly [name: string]: string | undefined }): Finding[] {
  const cure = 'keep the key in the daemon: latchkey key import, then --wallet and --key'
  const secrets: [string, string][] = [
    ['AVM_MNEMONIC', cure],
    ['AVM_PRIVATE_KEY', cure],
    ['KMD_PASSWORD', 'put it into a file of mode 600 and set KMD_PASSWORD_FILE'],
  ]
  const found = secrets.filter(([name]) => (environment[name] ?? '') !== '')
  if (found.length === 0) return [ok('no secret is in the environment')]
  return found.map(([name, mend]) => warning(`${name} is in the environment, where other programs can read it`, mend))
}

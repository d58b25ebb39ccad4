/** Checks the machine and the environment. */
import { spawnSync } from 'node:child_process'
import * as Suggestion from '@latchkey/algorand/suggestion'
import { variableNames } from '../helpTopics.js'
import { type Finding, fault, ok, warning } from './Finding.js'

export function checkMachine(environment: { readonly [name: string]: string | undefined }): Finding[] {
  // Unsupported older versions of Node do not get here: see bin/checkNode.js.
  return [ok(`Node ${process.versions.node}`), checkFlock(), ...checkSecrets(environment), ...checkNames(environment)]
}

/** The daemon needs flock to lock its data directory. */
function checkFlock(): Finding {
  if (process.platform !== 'linux')
    return warning(`${process.platform} is not a tested platform`, 'run Latchkey on Linux')
  const { error } = spawnSync('flock', ['--version'], { stdio: 'ignore' })
  return error === undefined ? ok('flock is installed') : fault('flock is missing', 'install the package util-linux')
}

function checkSecrets(environment: { readonly [name: string]: string | undefined }): Finding[] {
  const keyCure = 'keep the key in the daemon: latchkey key import, then --wallet and --key'
  const secrets: [string, string][] = [
    ['AVM_MNEMONIC', keyCure],
    ['AVM_PRIVATE_KEY', keyCure],
    ['KMD_PASSWORD', 'put the password into a file with mode 600 and set KMD_PASSWORD_FILE'],
  ]
  const found = secrets.filter(([name]) => (environment[name] ?? '') !== '')
  if (found.length === 0) return [ok('the environment contains no secrets')]
  return found.map(([name, cure]) => warning(`${name} is in the environment, where other programs can read it`, cure))
}

/** The prefixes of our variables. */
const prefixes = /^(KMD|AVM|ALGOD|INDEXER|FACILITATOR|USDC|LATCHKEY)_/
/** Variables of other programs and of the tests. */
const others =
  /^(KMD|ALGOD|INDEXER)_(SERVER|PORT|TOKEN|NOUSB|HOST|ADDRESS)$|^(AVM_ADDRESS|AVM_(MNEMONIC|PRIVATE_KEY)_\d+|LATCHKEY_(FUZZ|CRASH|SOAK|REFERENCE|TEST).*)$/

/** A misspelled variable has no effect, and nothing else would report it. */
function checkNames(environment: { readonly [name: string]: string | undefined }): Finding[] {
  return Object.keys(environment).flatMap((name) => {
    if (!prefixes.test(name) || variableNames.includes(name) || others.test(name)) return []
    const suggestion = Suggestion.didYouMean(name, variableNames)
    if (suggestion === undefined && !name.startsWith('LATCHKEY_')) return []
    const text = `no command reads the environment variable ${name}`
    return [
      warning(
        suggestion === undefined ? text : `${text}; ${suggestion}`,
        'list the variables: latchkey help environment',
      ),
    ]
  })
}

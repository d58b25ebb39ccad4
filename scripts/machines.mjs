// `node scripts/machines.mjs [NAME ...]`: runs `npm start` and `npm test` on simulated machines that differ from this
// one, from a new clone, and reports the result of each. `NAME+NAME` is one machine with both differences. Requires root
// on Linux.
//   --list        list the machines
//   --whole       run all of `npm test` instead of a few files
//   --here        use this working tree instead of a new clone, for machines that do not change the tree
//   --base DIR    a debootstrap tree of Debian, for the machines fresh-root and fresh-user
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { machines } from './machines/machines.mjs'
import { runStart, runTests } from './machines/runs.mjs'
import { root } from './packages.mjs'

const { values, positionals } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    here: { type: 'boolean', default: false },
    base: { type: 'string' },
  },
  allowPositionals: true,
})
if (values.list) {
  for (const [name, { what }] of Object.entries(machines)) console.log(`${name.padEnd(15)} ${what}`)
  process.exit()
}
const unknown = positionals.flatMap(partsOf).find((name) => machines[name] === undefined)
if (unknown !== undefined) {
  console.error(`unknown machine ${unknown}; list the machines with --list`)
  process.exit(2)
}
const names = positionals.length > 0 ? positionals : Object.keys(machines).filter((name) => !machines[name].needsBase)
const directory = mkdtempSync(join(process.env.LATCHKEY_MACHINES ?? tmpdir(), 'latchkey-machines-'))
// Other users must be able to enter the directory.
spawnSync('chmod', ['755', directory])
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

let isFailed = false
for (const name of names) isFailed = !(await visit(name)) || isFailed
process.exit(isFailed ? 1 : 0)

/** Creates one machine, runs both commands on it and prints a line for each. */
async function visit(name) {
  const home = join(directory, `${name}-home`)
  mkdirSync(home)
  const place = { directory, home, base: values.base, tree: treeFor(name), spawn, root }
  const { expectsCure, ...situation } = await makeAll(name, place)
  try {
    const start = await runStart(situation)
    const test = expectsCure === undefined ? await runTests(situation, values.whole) : undefined
    const isGood = expectsCure === undefined ? start.isGood && test.isGood : expectsCure.test(start.output)
    for (const [command, result] of [
      ['npm start', start],
      ['npm test', test],
    ]) {
      if (result === undefined) continue
      console.log(
        `${isGood ? 'ok    ' : 'FAILED'} ${name.padEnd(15)} ${command.padEnd(9)} ${result.seconds} s  ${result.said}`,
      )
      const lastLines = result.output.split('\n').slice(isGood ? -30 : -150)
      if (!isGood || values.whole) console.log(lastLines.join('\n'))
    }
    return isGood
  } finally {
    await situation.close()
  }
}

/** Creates a machine with every difference that its name lists. */
async function makeAll(name, place) {
  const usual = { ...process.env, HOME: place.home }
  const machine = { command: [], environment: { ...usual }, cwd: place.tree, close: () => {} }
  for (const part of partsOf(name)) {
    const { command = [], environment = usual, close = () => {}, ...others } = await machines[part].make(place)
    const closeBefore = machine.close
    for (const variable of Object.keys({ ...usual, ...environment })) {
      if (environment[variable] === usual[variable]) continue
      if (environment[variable] === undefined) delete machine.environment[variable]
      else machine.environment[variable] = environment[variable]
    }
    Object.assign(machine, others, {
      command: [...machine.command, ...command],
      close: async () => {
        await close()
        await closeBefore()
      },
    })
  }
  return machine
}

function partsOf(name) {
  return name.split('+')
}

/** Clones the last commit. The clone is installed and built, except for machines that test installing and building. */
function treeFor(name) {
  const parts = partsOf(name).map((part) => machines[part])
  if (values.here && !parts.some(({ changesTree }) => changesTree)) return root
  const tree = join(directory, parts.find(({ path }) => path !== undefined)?.path ?? name)
  mkdirSync(join(tree, '..'), { recursive: true })
  run('git', ['clone', '--quiet', root, tree])
  if (!parts.some(({ isFresh }) => isFresh)) {
    // With hard links, one machine could change another's files.
    cpSync(join(root, 'node_modules'), join(tree, 'node_modules'), { recursive: true, verbatimSymlinks: true })
    rmSync(join(tree, 'node_modules', '.cache'), { recursive: true, force: true })
  }
  return tree
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${command} exited with ${status}`)
}

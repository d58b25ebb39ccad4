// Runs a command from its bundle, or in a checkout from the compiled modules if they are newer. A checkout that was
// installed without a build is built first. The file is small and CommonJS, because Node takes twice as long to load ES
// modules, and most commands end soon after their start.
'use strict'

const { existsSync, readdirSync, statSync } = require('node:fs')
const { join } = require('node:path')

const directory = join(__dirname, '..')

exports.run = async (command) => {
  const { main } = await load(command)
  process.exitCode = await main(process.argv.slice(2))
}

function load(command) {
  const bundle = join(directory, 'bundle', `${command}.js`)
  if (!isCheckout()) return require(bundle)
  const compiled = join(directory, 'dist', `${command}.js`)
  if (!existsSync(compiled)) build()
  if (isCurrent()) return require(bundle)
  return import(require('node:url').pathToFileURL(compiled).href)
}

/** The published package has no compiler settings. */
function isCheckout() {
  return existsSync(join(directory, 'tsconfig.json'))
}

/** Whether the bundle is complete, and no package was compiled after its build began. */
function isCurrent() {
  const bundledMs = changedMs(join(directory, 'bundle', '.built-from'))
  if (bundledMs === 0) return false
  const packages = join(directory, '..')
  return readdirSync(packages).every((name) => changedMs(join(packages, name, 'dist', '.tsbuildinfo')) <= bundledMs)
}

function changedMs(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function build() {
  const script = join(directory, '..', '..', 'scripts', 'build.mjs')
  process.stderr.write('latchkey: building, which happens once and takes some seconds\n')
  const { spawnSync } = require('node:child_process')
  const result = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] })
  if (result.status !== 0) process.exit(3)
}

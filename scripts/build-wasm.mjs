// Assembles the WebAssembly module of the key derivation into the directory of the compiled JavaScript that loads it.
import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from './packages.mjs'

const source = join(root, 'packages/kmd/src/derivation/romix.wat.mjs')
const output = join(root, 'packages/kmd/dist/derivation/romix.wasm')

const changedMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

if (changedMs(output) <= Math.max(changedMs(source), changedMs(fileURLToPath(import.meta.url)))) {
  const [{ romixWat }, { default: initialise }] = await Promise.all([import(pathToFileURL(source)), import('wabt')])
  const features = { simd: true }
  const module = (await initialise()).parseWat('romix.wat', romixWat, features)
  module.validate(features)
  mkdirSync(dirname(output), { recursive: true })
  // Renamed into place, so a process that starts during the build never reads a partial module.
  writeFileSync(`${output}.part`, module.toBinary({}).buffer)
  renameSync(`${output}.part`, output)
  module.destroy()
}

/** Executes the commands of the workflow in examples/github-actions, in a folder like the repository of its reader. */
import assert from 'node:assert/strict'
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { readYaml } from './Deployment.test.helper.js'
import { Shell } from './Shell.test.helper.js'

const directory = 'examples/github-actions'

type Step = { readonly run?: string; readonly uses?: string }
type Workflow = { readonly on: object; readonly jobs: { readonly test: { readonly steps: readonly Step[] } } }

test('the commands of the workflow pass on a chain of their own', { timeout: 240_000 }, async (t) => {
  const { jobs } = readYaml<Workflow>(`${directory}/test.yml`)
  const { steps } = jobs.test
  assert.deepEqual(
    steps.flatMap(({ uses }) => uses ?? []),
    ['actions/checkout@v4', 'actions/setup-node@v4'],
  )
  const commands = steps.flatMap(({ run }) => run ?? [])
  // Packages come from the clone; `publish/outside.test.ts` installs them.
  assert.equal(commands.shift(), 'npm ci')
  assert.equal(commands.length, 1)
  const shell = await Shell.open(t, {
    name: 'repository',
    prepare: (place) => {
      symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
      copyFileSync(join(root, directory, 'paid.test.js'), join(place, 'paid.test.mjs'))
    },
    environment: (place) => ({
      PATH: `${join(place, 'node_modules', '.bin')}:${process.env['PATH']}`,
      TMPDIR: temporaryDirectory(t),
      npm_config_offline: 'true',
    }),
    rewrites: [],
    notRun: [],
  })
  for (const { command, output, code } of await shell.run(commands.join('\n'))) {
    assert.equal(code, 0, `${command} printed:\n${output}`)
    assert.match(output, /# pass 2\n# fail 0/)
  }
})

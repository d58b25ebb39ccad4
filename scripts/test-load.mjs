// `npm run test:load`: runs `npm test` three times in a row alongside four busy loops. A test that asserts a speed or
// races against a clock fails here first. Test files that run in parallel add to the load. `-- --times 1 --loops 8
// PATH` narrows the run.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './packages.mjs'
import { startBusyLoops } from './testing/busyLoops.mjs'

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '3' }, loops: { type: 'string', default: '4' } },
  allowPositionals: true,
})

const stop = startBusyLoops(Number(values.loops))
process.on('exit', stop)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130))

for (let run = 1; run <= Number(values.times); run++) {
  console.error(`\nlatchkey: run ${run} of ${values.times} next to ${values.loops} busy loops`)
  const startedAt = Date.now()
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), ...positionals], {
    stdio: 'inherit',
  })
  console.error(`latchkey: run ${run} exited with ${status} after ${Math.round((Date.now() - startedAt) / 1000)} s`)
  if (status !== 0) process.exit(status ?? 1)
}

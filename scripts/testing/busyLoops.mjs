// Keeps the cores busy while tests run, to find tests that depend on a speed.
import { spawn } from 'node:child_process'

/** Starts processes that each use a core fully. They exit with this process. @returns a function that stops them */
export function startBusyLoops(count) {
  const program =
    "process.on('disconnect', () => process.exit()); setInterval(() => { for (const end = Date.now() + 500; Date.now() < end; ); }, 1)"
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  )
  for (const loop of loops) {
    loop.unref()
    loop.channel.unref()
  }
  return () => {
    for (const loop of loops) loop.kill('SIGKILL')
  }
}

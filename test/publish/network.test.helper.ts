/** A private network for a page whose ports are printed: other programs of this machine cannot use them there. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { atEnd, type Scope } from '../process/commands.test.helper.js'

const lo = 'ip link set lo up'

/** Whether this user can create networks, which needs root and `ip`. */
export function canIsolate(): boolean {
  return spawnSync('unshare', ['--net', 'sh', '-c', lo], { stdio: 'ignore' }).status === 0
}

/** Returns the command that runs another one in a new network with only the loopback interface. */
export async function openNetwork(scope: Scope): Promise<readonly string[]> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', `${lo} && echo ready && exec sleep infinity`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(holder, 'close')
  atEnd(scope, async () => {
    holder.kill('SIGKILL')
    await closed
  })
  await Promise.race([
    once(holder.stdout, 'data'),
    closed.then(([code]) => Promise.reject(new Error(`unshare ended with ${code}`))),
  ])
  return ['nsenter', `--net=/proc/${holder.pid}/ns/net`, '--']
}

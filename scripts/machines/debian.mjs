// Builds a machine as a directory: a debootstrap tree of Debian with Node and nothing else, entered with chroot(2).
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Copies the tree `base`, adds Node, npm and a clone of the project, and returns how to run a command in the copy. */
export function makeDebian({ base, directory, tree }, { user }) {
  if (base === undefined || !existsSync(join(base, 'bin', 'sh'))) throw new Error('--base is not a Debian tree')
  const machine = join(directory, `debian-${user}`)
  execFileSync('cp', ['-a', base, machine])
  copyFileSync(process.execPath, join(machine, 'usr', 'bin', 'node'))
  const npm = dirname(dirname(realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())))
  cpSync(npm, join(machine, 'usr', 'lib', 'node_modules', 'npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    execFileSync('ln', ['-sf', `../lib/node_modules/npm/bin/${name}-cli.js`, join(machine, 'usr', 'bin', name)])
  }
  for (const file of ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt']) {
    mkdirSync(dirname(join(machine, file)), { recursive: true })
    copyFileSync(file, join(machine, file))
  }
  const home = user === 'root' ? '/root' : `/home/${user}`
  if (user !== 'root') execFileSync('chroot', [machine, 'useradd', '--create-home', user])
  // Without `verbatimSymlinks`, links would point out of the machine.
  cpSync(tree, join(machine, home, 'latchkey'), { recursive: true, verbatimSymlinks: true })
  execFileSync('chroot', [machine, 'chown', '-R', `${user}:${user}`, home])
  const mounts = 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount -t tmpfs tmpfs "$0/tmp"'
  const enter = `${mounts}; exec chroot --userspec=${user} "$0" /usr/bin/env -i HOME=${home} PATH=/usr/bin:/bin:/usr/sbin:/sbin USER=${user} NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt sh -c 'cd ~/latchkey && exec "$@"' sh "$@"`
  return { command: ['unshare', '--mount', '--pid', '--fork', 'sh', '-c', enter, machine], cwd: '/' }
}

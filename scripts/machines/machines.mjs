// Defines the machines and how each differs from this one. `make` gets `{ directory, home, tree, base }` and returns
// the differences from a plain run: `command` (a prefix), `environment`, `cwd`, `close`, and `expectsCure` if the
// command must print a remedy.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { obtainNode } from '../obtain/node.mjs'
import { startBusyLoops } from '../testing/busyLoops.mjs'
import { makeDebian } from './debian.mjs'

/** A user id that owns nothing on most machines and has no entry in /etc/passwd. */
const stranger = '54321'
const asStranger = ['setpriv', '--reuid', stranger, '--regid', stranger, '--clear-groups', '--']
const withHome = (home, more = {}) => ({ ...process.env, HOME: home, ...more })
/** Runs `setup` in the shell before the command. */
const after = (setup) => ['sh', '-c', `${setup}; exec "$@"`, 'sh']
/** Runs in a separate network namespace with only the loopback interface. */
const alone = (setup) => ['unshare', '--net', '--mount', ...after(`ip link set lo up; ${setup}`)]
const hosts = (directory, lines) => {
  const path = join(directory, `hosts-${lines.length}`)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return `mount --bind ${path} /etc/hosts`
}

export const machines = {
  'fresh-root': {
    what: 'Debian with only Node, as root',
    needsBase: true,
    isFresh: true,
    make: (place) => makeDebian(place, { user: 'root' }),
  },
  'fresh-user': {
    what: 'Debian with only Node, as an ordinary user',
    needsBase: true,
    isFresh: true,
    make: (place) => makeDebian(place, { user: 'visitor' }),
  },
  user: {
    what: 'an ordinary user without sudo',
    changesTree: true,
    make: ({ home, tree }) => {
      execFileSync('chown', ['-R', `${stranger}:${stranger}`, home, tree])
      return { command: asStranger, environment: withHome(home) }
    },
  },
  'few-programs': {
    what: 'no apt, Python, Chromium, compiler or curl',
    make: ({ home, directory }) => ({ environment: withHome(home, { PATH: fewPrograms(directory, ['flock']) }) }),
  },
  'no-flock': {
    what: 'no flock(1)',
    make: ({ home, directory }) => ({
      environment: withHome(home, { PATH: fewPrograms(directory, []) }),
      expectsCure: /util-linux/,
    }),
  },
  'node-22': { what: 'Node 22', make: (place) => ({ environment: withNode(place, '22') }) },
  'node-24': { what: 'Node 24', make: (place) => ({ environment: withNode(place, '24') }) },
  'node-26': { what: 'Node 26', make: (place) => ({ environment: withNode(place, '26') }) },
  path: {
    what: 'a path with spaces and umlauts',
    path: 'Meine Projekte/Größe & Maß',
    changesTree: true,
    make: () => ({}),
  },
  'no-git': {
    what: 'a tree without .git',
    changesTree: true,
    make: ({ tree }) => {
      rmSync(join(tree, '.git'), { recursive: true })
      return {}
    },
  },
  'no-home': {
    what: 'HOME is not set',
    make: ({ home }) => {
      const { HOME: _, ...environment } = process.env
      // npm's cache is in the home directory too.
      return { environment: { ...environment, XDG_STATE_HOME: home } }
    },
  },
  'read-only-home': {
    what: 'HOME is not writable',
    make: ({ home }) => ({
      command: ['unshare', '--mount', ...after(`mount -t tmpfs -o ro tmpfs "${home}"`)],
      expectsCure: /--dir|XDG_STATE_HOME|HOME/,
    }),
  },
  tmpdir: {
    what: 'another TMPDIR',
    make: ({ home, directory }) => {
      const path = join(directory, 'other tmp')
      mkdirSync(path, { recursive: true })
      return { environment: withHome(home, { TMPDIR: path }) }
    },
  },
  umask: { what: 'umask 077', changesTree: true, make: () => ({ command: after('umask 077') }) },
  'few-files': { what: 'ulimit -n 256', make: () => ({ command: after('ulimit -n 256') }) },
  ipv4: {
    what: 'localhost is IPv4 only',
    make: ({ directory }) => ({
      command: alone(
        `${hosts(directory, ['127.0.0.1 localhost'])}; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 || true`,
      ),
    }),
  },
  ipv6: {
    what: 'localhost is IPv6 only',
    make: ({ directory }) => ({ command: alone(hosts(directory, ['::1 localhost', '# 127.0.0.1 has no name'])) }),
  },
  offline: {
    what: '`npm ci` without a network, with a full cache',
    isFresh: true,
    changesTree: true,
    make: ({ home }) => {
      const cache = execFileSync('npm', ['config', 'get', 'cache'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      return { command: alone('true'), environment: withHome(home, { npm_config_cache: cache.trim() }) }
    },
  },
  ports: {
    what: 'the ports of the stack are in use',
    make: async () => {
      const servers = await Promise.all([4001, 4002, 4021, 4022, 8980].map(listen))
      return { close: () => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))) }
    },
  },
  busy: {
    what: 'four busy loops',
    make: () => ({ close: startBusyLoops(4) }),
  },
}

/** If another program already uses the port, that has the same effect. */
function listen(port) {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', () => resolve({ close: (done) => done() }))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Returns a PATH with Node, npm, git and the programs that every Linux has. */
function fewPrograms(directory, more) {
  const path = mkdtemp(directory, 'bin')
  const usual = [
    'sh',
    'cat',
    'ls',
    'mkdir',
    'rm',
    'cp',
    'mv',
    'ln',
    'env',
    'uname',
    'dirname',
    'basename',
    'sed',
    'grep',
    'tr',
    'id',
    'sleep',
    'kill',
    'chmod',
    'readlink',
    'head',
    'tail',
    'true',
    'git',
    'node',
    'npm',
    'npx',
  ]
  for (const name of [...usual, ...more]) {
    const found = (process.env.PATH ?? '')
      .split(delimiter)
      .map((one) => join(one, name))
      .find(existsSync)
    if (found !== undefined) symlinkSync(found, join(path, name))
  }
  return path
}

function mkdtemp(directory, name) {
  const path = join(directory, `${name}-${readdirSync(directory).length}`)
  mkdirSync(path)
  return path
}

/** Adds a Node of another release line, where every user can run it. */
function withNode({ home, directory }, line) {
  const { directory: program, problem } = obtainNode(line)
  if (problem !== undefined) throw new Error(problem)
  const folder = mkdtemp(directory, `node-${line}`)
  copyFileSync(join(program, 'node'), join(folder, 'node'))
  return withHome(home, { PATH: `${folder}${delimiter}${process.env.PATH}` })
}

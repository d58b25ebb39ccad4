/** The compose file matches its schema, and names files, secrets, options and ports that exist. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { composeSchema, obtainTools, problems, read, readYaml } from './Deployment.test.helper.js'
import { checkFlags, checkVariable } from './Files.test.helper.js'

type Service = {
  image: string
  build?: { context: string; dockerfile: string; target: string }
  entrypoint?: string[]
  command?: string[]
  environment?: { [name: string]: string }
  secrets?: string[]
  volumes?: string[]
  ports?: string[]
  networks: string[]
  read_only?: boolean
  cap_drop: string[]
  security_opt: string[]
  stop_grace_period?: string
  healthcheck?: { disable?: boolean }
  depends_on?: { [name: string]: { condition: string } }
}
type Compose = { services: { [name: string]: Service }; secrets: { [name: string]: { file: string } }; volumes: object }

const directory = 'deploy/compose'
const file = readYaml<Compose>(`${directory}/compose.yaml`)
const services = Object.entries(file.services)
const replicas = ['facilitator-1', 'facilitator-2'].map((name) => file.services[name]!)

test('matches the Compose schema', { timeout: 300_000 }, async (t) => {
  const tools = await obtainTools()
  if ('problem' in tools) {
    t.skip(`NOT RUN: ${tools.problem}`)
    return
  }
  // YAML resolves the extensions (`x-`).
  assert.deepEqual(problems(composeSchema(tools.packages), file), [])
  assert.notDeepEqual(problems(composeSchema(tools.packages), { services: { a: { imagge: 'x' } } }), [])
})

test('files, secrets and volumes of the services exist', () => {
  for (const [name, { volumes = [], secrets = [], build, depends_on = {} }] of services) {
    for (const volume of volumes) {
      const [source] = volume.split(':') as [string]
      if (source.startsWith('.')) assert.ok(existsSync(join(root, directory, source)), `${name}: ${source}`)
      else assert.ok(source in file.volumes, `${name}: ${source}`)
    }
    for (const secret of secrets) assert.ok(secret in file.secrets, `${name}: ${secret}`)
    for (const other of Object.keys(depends_on)) assert.ok(other in file.services, `${name}: ${other}`)
    if (build !== undefined) {
      const context = join(root, directory, build.context)
      assert.match(readFileSync(join(context, build.dockerfile), 'utf8'), new RegExp(` AS ${build.target}$`, 'm'))
    }
  }
  const used = new Set(services.flatMap(([, { secrets = [] }]) => secrets))
  assert.deepEqual([...used].sort(), Object.keys(file.secrets).sort())
})

test('the replicas and the migration run existing commands, with secrets passed as files', () => {
  for (const { command, environment = {}, secrets } of [...replicas, file.services['migrate']!]) {
    const [name, second] = command as [string, string]
    checkFlags(second.startsWith('-') ? name : `${name} ${second}`, command!.join(' '))
    for (const variable of Object.keys(environment)) checkVariable(variable)
    const files = command!.flatMap((arg) => /=\/run\/secrets\/(.*)$/.exec(arg)?.[1] ?? [])
    for (const secret of files) assert.ok(secrets!.includes(secret), secret)
  }
  const [, , script] = replicas[0]!.entrypoint!
  const [, variable, secret] = /^([A-Z_]+)="\$\$\(cat \/run\/secrets\/([a-z-]+)\)" /.exec(script!)!
  checkVariable(variable!)
  assert.ok(replicas[0]!.secrets!.includes(secret!))
  const [, entry] = /ENTRYPOINT \["node", "([^"]+)"\]/.exec(read('deploy/Containerfile'))!
  assert.ok(script!.includes(` ${entry} `), 'the same entry point as the image')
})

test('a replica does not start without the mnemonic of its fee account', (t) => {
  const secrets = temporaryDirectory(t)
  const [shell, flag, script] = replicas[0]!.entrypoint!
  const here = script!
    .replaceAll('$$', '$')
    .replace('/run/secrets', secrets)
    .replace(/exec node \S+ /, `exec printenv AVM_MNEMONIC # `)
  const run = () => spawnSync(shell!, [flag!, here, 'latchkey'], { encoding: 'utf8' })
  const missing = run()
  assert.notEqual(missing.status, 0)
  assert.match(missing.stderr, /fee-mnemonic/)
  writeFileSync(join(secrets, 'fee-mnemonic'), '\n')
  const empty = run()
  assert.notEqual(empty.status, 0)
  assert.match(empty.stderr, /fee-mnemonic is empty/)
  writeFileSync(join(secrets, 'fee-mnemonic'), 'twenty five words\n')
  assert.deepEqual([run().status, run().stdout], [0, 'twenty five words\n'])
})

test('no service has more rights than it needs, and only the balancer is exposed', () => {
  for (const [name, service] of services) {
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    if (name !== 'database') assert.equal(service.read_only, true, name)
    assert.match(service.image, /^latchkey$|^docker\.io\/[a-z/-]+:v?[0-9]/, 'an image has a version')
    const open = (service.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))
    assert.deepEqual(open, name === 'nginx' ? ['8402:8402'] : [], name)
  }
  assert.deepEqual(file.services['database']!.networks, ['inside'])
})

test('the stop timeout of a replica is longer than its drain time', () => {
  for (const { command, stop_grace_period: grace } of replicas) {
    const [, drain] = /--drain-timeout=(\d+)/.exec(command!.join(' '))!
    assert.ok(Number.parseInt(grace!, 10) > Number(drain))
  }
})

test('the balancer and Prometheus name the replicas', () => {
  const names = Object.keys(file.services).filter((name) => name.startsWith('facilitator-'))
  const [, port] = /^EXPOSE ([0-9]+)$/m.exec(read('deploy/Containerfile'))!
  const addresses = names.map((name) => `${name}:${port}`)
  const upstream = [...read(`${directory}/upstream.conf`).matchAll(/server (\S+) /g)].map(([, address]) => address)
  assert.deepEqual(upstream, addresses)
  type Scrape = { scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[] }
  const { scrape_configs: jobs } = readYaml<Scrape>(`${directory}/prometheus.yml`)
  assert.deepEqual(jobs, [{ job_name: 'latchkey-facilitator', static_configs: [{ targets: addresses }] }])
  const replica = (path: string): string => read(path).replaceAll(/^.*\bserver \S+ .*\n|^#.*\n/gm, '')
  assert.equal(replica(`${directory}/upstream.conf`), replica('deploy/nginx/upstream.conf'))
})

test('secrets.sh creates every secret except the mnemonic, readable only by the owner, and keeps existing ones', (t) => {
  const place = join(temporaryDirectory(t), 'compose')
  mkdirSync(place)
  copyFileSync(join(root, directory, 'secrets.sh'), join(place, 'secrets.sh'))
  const run = (): string => {
    const { status, stderr } = spawnSync('sh', [join(place, 'secrets.sh')], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    return stderr
  }
  assert.match(run(), /put the 25 words .*fee-mnemonic/)
  const secrets = join(place, 'secrets')
  const made = (): { [name: string]: string } =>
    Object.fromEntries(readdirSync(secrets).map((name) => [name, readFileSync(join(secrets, name), 'utf8')]))
  const first = made()
  assert.deepEqual(Object.keys(first).sort(), Object.keys(file.secrets).sort())
  assert.equal(first['fee-mnemonic'], '')
  assert.equal(statSync(secrets).mode & 0o777, 0o700)
  assert.match(first['api-keys']!, /^[0-9a-f]{64}\n$/)
  const password = first['facilitator-password']!.trim()
  assert.equal(
    first['facilitator-store'],
    `postgres://latchkey_facilitator:${password}@database/latchkey?sslmode=disable\n`,
  )
  writeFileSync(join(secrets, 'fee-mnemonic'), 'words', { mode: 0o600 })
  chmodSync(join(secrets, 'fee-mnemonic'), 0o600)
  assert.equal(run(), '')
  assert.deepEqual(made(), { ...first, 'fee-mnemonic': 'words' })
  // The containers run as other users; only the owner can enter the directory.
  for (const name of Object.keys(first)) assert.equal(statSync(join(secrets, name)).mode & 0o777, 0o644, name)
  assert.match(read('.gitignore'), /^deploy\/compose\/secrets\/$/m)
})

test('roles.sh gives the replicas the role that the migration grants to', () => {
  const script = read(`${directory}/roles.sh`)
  const role = file.services['migrate']!.command!.join(' ').match(/--grant-to=(\S+)/)![1]
  assert.ok(script.includes(`CREATE ROLE ${role} LOGIN`))
  assert.equal(spawnSync('sh', ['-n', join(root, directory, 'roles.sh')]).status, 0)
})

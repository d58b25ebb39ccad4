/** The manifests match the Kubernetes schemas, each other, and the behaviour of the facilitator. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import {
  kubernetesSchema,
  type Members,
  manifests,
  obtainTools,
  problems,
  read,
  serviceMonitorSchema,
} from './Deployment.test.helper.js'
import { checkFlags, checkVariable } from './Files.test.helper.js'

type Container = {
  name: string
  image: string
  args: string[]
  env?: { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[]
  ports?: { name: string; containerPort: number }[]
  securityContext: Members
  volumeMounts: { name: string; mountPath: string }[]
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } }
}
type PodSpec = {
  containers: [Container]
  terminationGracePeriodSeconds?: number
  securityContext: Members
  volumes: { name: string; secret?: { secretName: string; items: { key: string; path: string }[] } }[]
}
type Labels = { [name: string]: string }
type Workload = { metadata: { name: string }; spec: { template: { metadata: { labels: Labels }; spec: PodSpec } } }

const all = manifests()
const kinds = all.filter(({ document }) => document['kind'] !== 'Kustomization')
const one = <T>(kind: string): T => all.find(({ document }) => document['kind'] === kind)!.document as T
const deployment = one<Workload>('Deployment')
const job = one<Workload>('Job')

test('every manifest matches the strict schema of its kind', { timeout: 300_000 }, async (t) => {
  const tools = await obtainTools()
  if ('problem' in tools) {
    t.skip(`NOT RUN: ${tools.problem}`)
    return
  }
  const schemas = temporaryDirectory(t)
  for (const { path, document } of kinds) {
    const isMonitor = document['kind'] === 'ServiceMonitor'
    const schema: Members = isMonitor ? serviceMonitorSchema : kubernetesSchema(tools.packages, document)
    assert.deepEqual(problems(schema, document), [], path)
    assert.notDeepEqual(problems(schema, { ...document, unknown: 1 }), [], `${path}: unknown members are refused`)
    writeFileSync(join(schemas, `${String(document['kind']).toLowerCase()}.json`), JSON.stringify(schema))
  }
  const kubeconform = findProgram('kubeconform')
  if (kubeconform === undefined) return t.diagnostic('kubeconform is not installed: checked by the schemas alone')
  const location = join(schemas, '{{.ResourceKind}}.json')
  const files = kinds.map(({ path }) => join(root, path))
  const checked = spawnSync(kubeconform, ['-strict', '-schema-location', location, ...files], { encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stdout + checked.stderr)
})

test('kustomization.yaml lists every manifest', () => {
  const { resources } = one<{ resources: string[] }>('Kustomization')
  assert.deepEqual([...resources].sort(), kinds.map(({ path }) => path.split('/').at(-1)!).sort())
})

for (const { metadata, spec } of [deployment, job]) {
  const pod = spec.template.spec
  const [container] = pod.containers

  test(`${metadata.name} runs a command with options and variables that exist`, () => {
    const command = container.args.filter((arg) => !arg.startsWith('-')).join(' ')
    checkFlags(command, container.args.join(' '))
    for (const { name } of container.env ?? []) checkVariable(name)
    for (const file of container.args.flatMap((arg) => /=(\/run\/.*)$/.exec(arg)?.[1] ?? [])) {
      const mount = container.volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))
      const { secret } = pod.volumes.find(({ name }) => name === mount?.name)!
      assert.ok(
        secret!.items.some((item) => `${mount!.mountPath}/${item.path}` === file),
        file,
      )
    }
  })

  test(`${metadata.name} has no privileges, and a read-only file system`, () => {
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext
    assert.deepEqual([runAsNonRoot, seccompProfile], [true, { type: 'RuntimeDefault' }])
    assert.ok(read('deploy/Containerfile').includes(`USER ${runAsUser}:`), 'the user is that of the image')
  })
}

test('probes use paths that the facilitator serves, on its port', () => {
  const { containers, terminationGracePeriodSeconds } = deployment.spec.template.spec
  const [container] = containers
  const help = spawnSync(process.execPath, [join(root, 'packages/cli/bin/latchkey.js'), 'facilitator', '--help'], {
    encoding: 'utf8',
  }).stdout
  for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const { path, port } = container[name]!.httpGet
    assert.equal(path, name === 'readinessProbe' ? '/readyz' : '/livez')
    assert.ok(help.includes(path), path)
    assert.equal(port, container.ports![0]!.name)
  }
  assert.ok(container.args.includes(`--port=${container.ports![0]!.containerPort}`))
  const [, drain] = /--drain-timeout=(\d+)/.exec(container.args.join(' '))!
  assert.ok(terminationGracePeriodSeconds! > Number(drain), 'it is not killed while it drains')
})

test('service, budget, policy and monitor select the pods of the deployment', () => {
  const labels = deployment.spec.template.metadata.labels
  const matches = (selector: Labels): boolean =>
    Object.entries(selector).every(([name, value]) => labels[name] === value)
  const service = one<{ metadata: { labels: Labels }; spec: { selector: Labels; ports: { name: string }[] } }>(
    'Service',
  )
  assert.ok(matches(service.spec.selector))
  const budget = one<{ spec: { selector: { matchLabels: Labels } } }>('PodDisruptionBudget')
  assert.ok(matches(budget.spec.selector.matchLabels))
  const policy = one<{ spec: { podSelector: { matchExpressions: { key: string; values: string[] }[] } } }>(
    'NetworkPolicy',
  )
  const [{ key, values }] = policy.spec.podSelector.matchExpressions as [{ key: string; values: string[] }]
  assert.ok(values.includes(labels[key]!) && values.includes(job.spec.template.metadata.labels[key]!))
  type Monitor = { spec: { selector: { matchLabels: Labels }; endpoints: { port: string; path: string }[] } }
  const { selector, endpoints } = one<Monitor>('ServiceMonitor').spec
  assert.deepEqual(selector.matchLabels, service.metadata.labels)
  assert.deepEqual([endpoints[0]!.port, endpoints[0]!.path], [service.spec.ports[0]!.name, '/metrics'])
})

test('the documentation creates every key of a secret', () => {
  const page = read('docs/deploying.md')
  const referenced = [deployment, job].flatMap(({ spec }) => {
    const { containers, volumes } = spec.template.spec
    const fromEnvironment = (containers[0].env ?? []).map(({ valueFrom }) => valueFrom.secretKeyRef)
    const fromVolumes = volumes.flatMap(({ secret }) =>
      (secret?.items ?? []).map(({ key }) => ({ name: secret!.secretName, key })),
    )
    return [...fromEnvironment, ...fromVolumes]
  })
  assert.equal(referenced.length, 4)
  for (const { name, key } of referenced) {
    assert.match(page, new RegExp(`create secret generic ${name} [^\`]*--from-file=${key}\\b`), `${name} ${key}`)
  }
})

function findProgram(name: string): string | undefined {
  const given = process.env['KUBECONFORM_BIN'] ?? ''
  const directories = [given, ...(process.env['PATH'] ?? '').split(delimiter)].filter((path) => path !== '')
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path))
}

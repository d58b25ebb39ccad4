/** Reads the files in deploy/ as their programs see them. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { load, loadAll } from 'js-yaml'
import { root } from '../support/daemon.test.helper.js'

export type Members = { readonly [name: string]: unknown }

export const read = (path: string): string => readFileSync(join(root, path), 'utf8')
export const readYaml = <T>(path: string): T => load(read(path)) as T

/** Returns every document of the manifests, with its file. */
export function manifests(): { path: string; document: Members }[] {
  const directory = 'deploy/kubernetes'
  return readdirSync(join(root, directory)).flatMap((name) =>
    (loadAll(read(join(directory, name))) as Members[]).map((document) => ({ path: join(directory, name), document })),
  )
}

type Obtained = { python: string; problem?: undefined } | { problem: string }

/** Returns the directory of the Python packages with linter and schemas, or why there is none. */
export async function obtainTools(): Promise<{ bin: string; packages: string } | { problem: string }> {
  const script = new URL('../../../scripts/obtain/python.mjs', import.meta.url)
  const { obtainPython } = (await import(script.href)) as { obtainPython: (requirements: string) => Obtained }
  const found = obtainPython('../../docs/python/deploy.txt')
  if (found.problem !== undefined) return found
  const bin = dirname(found.python)
  const lib = join(bin, '..', 'lib')
  const version = readdirSync(lib).find((name) => name.startsWith('python3')) ?? assert.fail('no Python in it')
  return { bin, packages: join(lib, version, 'site-packages') }
}

/** Returns the strict schema of a kind: an unknown member is an error. All references are internal. */
export function kubernetesSchema(packages: string, { apiVersion, kind }: Members): Members {
  const directory = join(packages, 'kubernetes_validate', 'kubernetes-json-schema', 'v1.37.0-local-strict')
  const group = String(apiVersion)
    .split('/')
    .map((part) => part.split('.')[0])
  const path = join(directory, `${String(kind).toLowerCase()}-${group.join('-')}.json`)
  assert.ok(existsSync(path), `there is no schema of ${apiVersion} ${kind}`)
  const text = (name: string): string => readFileSync(name, 'utf8').replaceAll('"/api/_definitions.json#', '"#')
  const { $defs } = JSON.parse(text(join(directory, '_definitions.json'))) as Members
  return { ...(JSON.parse(text(path)) as Members), $defs }
}

export function composeSchema(packages: string): Members {
  const path = join(packages, 'check_jsonschema', 'builtin_schemas', 'vendor', 'compose-spec.json')
  return JSON.parse(readFileSync(path, 'utf8')) as Members
}

/** Returns the validation errors of a value. */
export function problems(schema: Members, value: unknown): string[] {
  const { $schema: _, $id: __, ...rest } = schema
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false })
  ajv.validate(rest, value)
  return (ajv.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}

/** The parts of the Prometheus operator schema that are used here. */
export const serviceMonitorSchema: Members = {
  type: 'object',
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  additionalProperties: false,
  properties: {
    apiVersion: { const: 'monitoring.coreos.com/v1' },
    kind: { const: 'ServiceMonitor' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['selector', 'endpoints'],
      additionalProperties: false,
      properties: {
        selector: { type: 'object', additionalProperties: false, properties: { matchLabels: { type: 'object' } } },
        endpoints: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            properties: {
              port: { type: 'string' },
              path: { type: 'string' },
              interval: { type: 'string', pattern: '^[0-9]+s$' },
              scrapeTimeout: { type: 'string', pattern: '^[0-9]+s$' },
              relabelings: {
                type: 'array',
                items: {
                  type: 'object',
                  additionalProperties: false,
                  properties: {
                    action: { enum: ['replace'] },
                    targetLabel: { type: 'string' },
                    replacement: { type: 'string' },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
}

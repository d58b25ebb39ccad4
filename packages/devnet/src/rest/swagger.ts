/** The description of the API, generated from the table of routes. Tools generate clients from it. */
import { version } from '../version.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import type { Route } from './Route.js'

type Members = { [name: string]: Value }

/** The route that serves the description of these routes. */
export function swaggerRoute(routes: readonly Route[]): Route {
  const route: Route = {
    method: 'GET',
    path: '/swagger.json',
    summary: 'This document',
    access: 'open',
    handle: () => HttpResponse.jsonText(text),
  }
  const text = HttpResponse.indentedText(describe([...routes, route]))
  return route
}

function describe(routes: readonly Route[]): Value {
  const paths: { [path: string]: Members } = {}
  for (const route of routes) {
    if (route.summary === undefined) continue
    const operations = paths[route.path] ?? {}
    operations[route.method.toLowerCase()] = operationOf(route, route.summary)
    paths[route.path] = operations
  }
  return {
    basePath: '/',
    consumes: ['application/json', 'application/msgpack', 'application/x-binary'],
    info: {
      description: 'The requests of the algod REST API that this development ledger serves.',
      title: 'latchkey devnet',
      version,
    },
    paths,
    produces: ['application/json'],
    schemes: ['http'],
    securityDefinitions: { api_key: { in: 'header', name: 'X-Algo-API-Token', type: 'apiKey' } },
    swagger: '2.0',
  }
}

function operationOf({ method, path, query = [], access }: Route, summary: string): Members {
  const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => parameter(name!, 'path'))
  const body = { in: 'body', name: 'body', required: true, schema: { format: 'byte', type: 'string' } }
  const parameters = [...inPath, ...query.map((name) => parameter(name, 'query'))]
  return {
    parameters: hasBody(method, path) ? [...parameters, body] : parameters,
    produces: query.includes('format') ? ['application/json', 'application/msgpack'] : ['application/json'],
    responses: {
      200: { description: 'OK' },
      default: { description: 'An error, as an object with a message', schema: { type: 'object' } },
    },
    ...(access === 'open' ? {} : { security: [{ api_key: [] }] }),
    summary,
  }
}

/** True for requests without a parameter in the path. */
function hasBody(method: string, path: string): boolean {
  return (method === 'POST' || method === 'PUT') && !path.includes('{')
}

const integers = new Set([
  'min',
  'round',
  'offset',
  'asset-id',
  'application-id',
  'limit',
  'max',
  'first',
  'last',
  'dilution',
])
const flags = new Set(['header-only', 'skip-pq-address-check', 'sourcemap'])
const required = new Set(['first', 'last', 'name'])

function parameter(name: string, where: 'path' | 'query'): Members {
  const type = integers.has(name) ? 'integer' : flags.has(name) ? 'boolean' : 'string'
  const choices: Members = name === 'format' ? { enum: ['json', 'msgpack'] } : {}
  return { ...choices, in: where, name, required: where === 'path' || required.has(name), type }
}

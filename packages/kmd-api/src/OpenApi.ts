/** /swagger.json: the API in OpenAPI 2, generated from the operations. */
import { descriptionPath, isOpen, metricsPath } from './Description.js'
import { type Operation, operations } from './operations.js'
import type { Field, Kind, Member, Shape, Wire } from './Schema.js'

type Json = { [member: string]: unknown }

/** Describes the API in OpenAPI 2, with the forms of one wire. */
export function describe(wire: Wire): Json {
  const definitions: Json = {}
  const paths: { [path: string]: Json } = {}
  for (const operation of operations) {
    const described = describeOperation(operation, wire, definitions)
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: described }
  }
  const description = describePlain('SwaggerHandler', 'Returns this document.', 'application/json')
  paths[descriptionPath] = { get: wire === 'reference' ? { ...description, security: [] } : description }
  paths[metricsPath] = {
    get: describePlain('GetMetrics', 'Returns metrics in the text format of Prometheus.', 'text/plain'),
  }
  return {
    swagger: '2.0',
    info: { title: 'for KMD HTTP API', description: 'API for KMD (Key Management Daemon)', version: '0.0.1' },
    host: 'localhost',
    basePath: '/',
    schemes: ['http'],
    consumes: ['application/json'],
    produces: ['application/json'],
    securityDefinitions: { api_key: { type: 'apiKey', name: 'X-KMD-API-Token', in: 'header' } },
    security: [{ api_key: [] }],
    paths,
    definitions,
  }
}

function describeOperation(operation: Operation, wire: Wire, definitions: Json): Json {
  const responseName = operation.responseName
  definitions[responseName] = envelope(operation.response, wire, definitions)
  definitions['ErrorResponse'] = envelope([], wire, definitions)
  const described: Json = {
    operationId: operation.id,
    summary: operation.about,
    responses: {
      200: { description: operation.about, schema: { $ref: `#/definitions/${responseName}` } },
      default: { description: 'The call failed; message says why.', schema: { $ref: '#/definitions/ErrorResponse' } },
    },
  }
  if (isOpen(operation, wire)) described['security'] = []
  if (operation.method !== 'GET') {
    const requestName = `${operation.id}Request`
    definitions[requestName] = { type: 'object', properties: describeFields(operation.request, wire) }
    described['parameters'] = [
      { in: 'body', name: 'body', required: true, schema: { $ref: `#/definitions/${requestName}` } },
    ]
  }
  return described
}

function describePlain(id: string, about: string, type: string): Json {
  return {
    operationId: id,
    summary: about,
    produces: [type],
    responses: { 200: { description: about, schema: { type: 'string' } }, default: { description: 'Unknown Error' } },
  }
}

/** The reference wire omits both from a success. Neither wire requires any member. */
function envelope(members: readonly Member[], wire: Wire, definitions: Json): Json {
  const properties: Json = { error: { type: 'boolean' }, message: { type: 'string' } }
  for (const { name, shape, about } of members) {
    properties[name] = withAbout(describeShape(shape, wire, definitions), about)
  }
  return { type: 'object', properties }
}

function describeShape(shape: Shape, wire: Wire, definitions: Json): Json {
  switch (shape.type) {
    case 'string':
    case 'text':
    case 'integer':
      return { type: 'string' }
    case 'bool':
      return { type: 'boolean' }
    case 'uint':
      return { type: 'integer', format: shape.format }
    case 'base64':
      return { type: 'string', format: 'byte' }
    case 'json':
      return { type: 'object' }
    case 'key':
      definitions[shape.name] = keyBytes(wire)
      return { $ref: `#/definitions/${shape.name}` }
    case 'list':
      return { type: 'array', items: describeShape(shape.of, wire, definitions) }
    case 'object': {
      const properties: Json = {}
      for (const { name, shape: inner, about } of shape.members) {
        properties[name] = withAbout(describeShape(inner, wire, definitions), about)
      }
      definitions[shape.name] = { type: 'object', properties }
      return { $ref: `#/definitions/${shape.name}` }
    }
  }
}

function describeFields(fields: readonly Field[], wire: Wire): Json {
  const properties: Json = {}
  for (const { name, kind, about, wire: only, ignored } of fields) {
    if (ignored) continue
    if (only === undefined || only === wire) properties[name] = { ...describeKind(kind, wire), description: about }
  }
  return properties
}

function describeKind(kind: Kind, wire: Wire): Json {
  switch (kind.type) {
    case 'text':
    case 'name':
    case 'ascii':
      return { type: 'string' }
    case 'bool':
      return { type: 'boolean' }
    case 'uint':
      return { type: 'integer', format: 'int64' }
    case 'uint8':
      return { type: 'integer', format: 'uint8' }
    case 'bytes':
      return { type: 'string', format: 'byte' }
    case 'fixed':
    case 'publicKey':
    case 'privateKey':
      return keyBytes(wire)
    case 'list':
      return { type: 'array', items: describeKind(kind.of, wire) }
    case 'object':
      return { type: 'object', properties: describeFields(kind.fields, wire) }
  }
}

/** Requests may use either form on either wire. The document shows the form of responses. */
function keyBytes(wire: Wire): Json {
  if (wire === 'reference') return { type: 'string', format: 'byte' }
  return { type: 'array', items: { type: 'integer', format: 'uint8' } }
}

/** A `$ref` must not have sibling members. */
function withAbout(schema: Json, about: string | undefined): Json {
  return about === undefined || '$ref' in schema ? schema : { ...schema, description: about }
}

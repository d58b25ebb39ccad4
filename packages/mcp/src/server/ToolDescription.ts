/** The description of a tool for catalogues: the extension `bazaar` of its offers. */
import { Json } from '@latchkey/algorand'
import { Discovery } from '@latchkey/x402/server'
import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { PaidTool } from './ToolGateOptions.js'

/** A schema that is larger would make every offer large. */
const maxSchemaLength = 4_096

type Config = {
  readonly description?: string | undefined
  readonly inputSchema?: StandardSchemaWithJSON | undefined
  readonly outputSchema?: StandardSchemaWithJSON | undefined
}

/** A gate opens before its tools are registered, so the schema of the arguments follows with the registration. */
export class ToolDescription {
  readonly #name: string
  readonly #tool: PaidTool
  readonly #declared: { [member: string]: unknown } = {}
  /** For the route of the tool. Its content changes when the tool is registered. */
  readonly extensions: { readonly [key: string]: unknown }

  constructor(name: string, tool: PaidTool) {
    this.#name = name
    this.#tool = tool
    this.extensions = { [Discovery.key]: this.#declared }
    this.#declare({ type: 'object' }, tool.description, undefined)
  }

  /** Adds the description and the schemas with which the tool is registered. */
  complete({ description, inputSchema, outputSchema }: Config): void {
    const input = schemaOf(inputSchema, 'input') ?? { type: 'object' }
    this.#declare(input, description ?? this.#tool.description, schemaOf(outputSchema, 'output'))
  }

  #declare(inputSchema: Json.Members, description: string | undefined, outputSchema: Json.Members | undefined): void {
    const { example, outputExample } = this.#tool
    const output = outputExample === undefined ? undefined : { schema: outputSchema, example: outputExample }
    const described = { toolName: this.#name, description, inputSchema, example, output }
    Object.assign(this.#declared, Discovery.toolDeclaration(described)[Discovery.key])
  }
}

/** The schema as JSON Schema; undefined if it is large, refers to other documents, or cannot be written. */
function schemaOf(schema: StandardSchemaWithJSON | undefined, side: 'input' | 'output'): Json.Members | undefined {
  if (schema === undefined) return undefined
  let written: unknown
  try {
    written = schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })
  } catch {
    return undefined
  }
  if (!Json.isObject(written) || JSON.stringify(written).length > maxSchemaLength) return undefined
  const { $schema: _, ...rest } = written
  return Discovery.outsideReference(rest) === undefined ? rest : undefined
}

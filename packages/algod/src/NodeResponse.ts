/** A response of a node, with validated members: the program at the address may not be a node. */
import { Address, Json } from '@latchkey/algorand'
import { AlgodError } from './AlgodError.js'

const maxTextLength = 256
const maxReasonLength = 500

export class NodeResponse {
  readonly status: number
  readonly #node: string
  readonly #value: unknown

  constructor(node: string, status: number, text: string) {
    this.#node = node
    this.status = status
    this.#value = parse(text)
  }

  /** The node's own reason for rejecting the request, or undefined if the response is not in a node's format. */
  reason(): string | undefined {
    const value = this.#value
    const message = Json.isObject(value) ? value['message'] : undefined
    return typeof message === 'string' ? message.slice(0, maxReasonLength) : undefined
  }

  /** The members of a successful response. */
  members(): Members {
    if (this.status === 400) {
      const message = `the node at ${this.#node} returned status 400: ${this.reason() ?? ''}`
      throw new AlgodError('rejected', message, { status: 400 })
    }
    if (this.status !== 200) throw this.unexpected()
    const value = this.#value
    if (!Json.isObject(value)) throw notANode(this.#node)
    return new Members(this.#node, value)
  }

  /** The error for a status that has no meaning for the request. */
  unexpected(): AlgodError {
    const { status } = this
    const message = `the node at ${this.#node} returned status ${status}`
    return new AlgodError('unexpected_status', message, { status, mayHaveArrived: status >= 500 })
  }

  notFound(path: string): AlgodError {
    return new AlgodError('not_found', `the node at ${this.#node} does not have ${path}`, { status: 404 })
  }
}

/** Undefined for anything that is not JSON. Errors do not quote the text, because it may be any page. */
function parse(text: string): unknown {
  try {
    return Json.parse(text)
  } catch {
    return undefined
  }
}

/** The members of an object in a response. Each reader throws `not_a_node` for a value that a node would not send. */
export class Members {
  readonly #node: string
  readonly #members: Json.Members

  constructor(node: string, members: Json.Members) {
    this.#node = node
    this.#members = members
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined
  }

  /** A member as it was sent, for a custom reader. */
  value(name: string): unknown {
    return this.#members[name]
  }

  text(name: string): string {
    const value = this.#members[name]
    if (typeof value !== 'string' || value.length > maxTextLength) throw notANode(this.#node)
    return value
  }

  /** A text that some nodes omit; undefined if it is absent or not a text. */
  optionalText(name: string): string | undefined {
    const value = this.#members[name]
    return typeof value === 'string' ? value : undefined
  }

  uint(name: string): bigint {
    return this.uintOf(this.#members[name])
  }

  /** An element of a list of integers. */
  uintOf(element: unknown): bigint {
    const value = Json.uint64(element)
    if (value === undefined) throw notANode(this.#node)
    return value
  }

  /** An integer that fits a number, such as a count or a round. */
  integer(name: string): number {
    const value = Number(this.uint(name))
    if (!Number.isSafeInteger(value)) throw notANode(this.#node)
    return value
  }

  isTrue(name: string): boolean {
    return this.#members[name] === true
  }

  /** An address, or undefined if it is absent. */
  address(name: string): string | undefined {
    const value = this.#members[name]
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string' || !Address.isValid(value)) throw notANode(this.#node)
    return value
  }

  list(name: string): readonly unknown[] {
    const value = this.#members[name]
    if (!Array.isArray(value)) throw notANode(this.#node)
    return value
  }

  object(name: string): Members {
    return this.objectOf(this.#members[name])
  }

  /** An element of a list of objects. */
  objectOf(value: unknown): Members {
    if (!Json.isObject(value)) throw notANode(this.#node)
    return new Members(this.#node, value)
  }

  invalid(): AlgodError {
    return notANode(this.#node)
  }
}

function notANode(node: string): AlgodError {
  return new AlgodError('not_a_node', `the server at ${node} is not an Algorand node`)
}

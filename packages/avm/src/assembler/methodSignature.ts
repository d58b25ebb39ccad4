/** Checks method signatures of ARC-4, such as `add(uint64,uint64)uint128`, with the messages of nodes. */

const special = new Set(['account', 'asset', 'application', 'txn', 'pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl'])
const plainTypes = new Set(['byte', 'bool', 'address', 'string'])
const maxDepth = 32
const maxUint16 = 65_535

/** Returns the reason why a text is no method signature, or undefined if it is one. */
export function signatureProblem(signature: string): string | undefined {
  const open = signature.indexOf('(')
  if (open < 0) return `No parenthesis in method signature: "${signature}"`
  if (open === 0) return `Method signature has no name: "${signature}"`
  const close = matchingParenthesis(signature)
  if (close < 0) return `Unpaired parenthesis in method signature: "${signature}"`
  const args = splitTuple(signature.slice(open + 1, close))
  if (typeof args === 'string') return args
  for (const [index, arg] of args.entries()) {
    const problem = special.has(arg) ? undefined : typeProblem(arg, 0)
    if (problem !== undefined) return `Error parsing argument type at index ${index}: ${problem}`
  }
  const returned = signature.slice(close + 1)
  const problem = returned === 'void' ? undefined : typeProblem(returned, 0)
  return problem === undefined ? undefined : `Error parsing return type: ${problem}`
}

/** Returns the end of the first pair of parentheses, or -1. */
function matchingParenthesis(text: string): number {
  let depth = 0
  for (const [index, character] of [...text].entries()) {
    if (character === '(') depth++
    if (character === ')' && --depth <= 0) return depth < 0 ? -1 : [...text].slice(0, index).join('').length
  }
  return -1
}

/** Splits the types of a tuple. Returns the problem if they cannot be told apart. */
function splitTuple(text: string): string[] | string {
  if (text === '') return []
  if (text.startsWith(',') || text.endsWith(',')) {
    return 'parsing error: tuple content should not start or end with comma'
  }
  if (text.includes(',,')) return 'no consecutive commas'
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index <= text.length; index++) {
    if (text[index] === '(') depth++
    if (text[index] === ')' && --depth < 0) break
    if (index === text.length || (text[index] === ',' && depth === 0)) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return depth === 0 ? parts : `unpaired parentheses: ${text}`
}

function typeProblem(type: string, depth: number): string | undefined {
  if (depth > maxDepth) return 'types are nested too deeply'
  if (type.endsWith('[]')) return typeProblem(type.slice(0, -2), depth + 1)
  if (type.endsWith(']')) {
    const [, element, length] = /^([a-z\d[\](),]+)\[(0|[1-9]\d*)\]$/.exec(type) ?? []
    if (element === undefined) return `static array ill formated: "${type}"`
    return outOfRange(length!) ?? typeProblem(element, depth + 1)
  }
  if (type.startsWith('uint')) {
    const size = type.slice(4)
    return /^\d+$/.test(size) && Number(size) <= maxUint16
      ? bitSizeProblem('uint', size)
      : `ill formed uint type: "${type}"`
  }
  if (type.startsWith('ufixed')) return fixedProblem(type)
  if (plainTypes.has(type)) return undefined
  if (type.length < 2 || !type.startsWith('(') || !type.endsWith(')')) {
    return `cannot convert the string "${type}" to an ABI type`
  }
  const parts = splitTuple(type.slice(1, -1))
  if (typeof parts === 'string') return parts
  for (const part of parts) {
    const problem = typeProblem(part, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function fixedProblem(type: string): string | undefined {
  const [, size, precision] = /^ufixed([1-9]\d*)x([1-9]\d*)$/.exec(type) ?? []
  if (size === undefined) return `ill formed ufixed type: "${type}"`
  const problem = outOfRange(size) ?? outOfRange(precision!) ?? bitSizeProblem('ufixed', size)
  if (problem !== undefined) return problem
  return Number(precision) > 160 ? `unsupported ufixed type precision: ${precision}` : undefined
}

function bitSizeProblem(name: string, text: string): string | undefined {
  const size = Number(text)
  const isValid = size >= 8 && size <= 512 && size % 8 === 0
  return isValid ? undefined : `unsupported ${name} type bitSize: ${size}`
}

function outOfRange(number: string): string | undefined {
  return Number(number) > maxUint16 ? `strconv.ParseUint: parsing "${number}": value out of range` : undefined
}

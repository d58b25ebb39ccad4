/** Checks method signatures of ARC-4, such as `add(uint64,uint64)uint128`. */

const special = new Set(['account', 'asset', 'application', 'txn', 'pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl'])
const maxDepth = 32

/** Returns the reason why a text is no method signature, or undefined if it is one. */
export function signatureProblem(signature: string): string | undefined {
  const open = signature.indexOf('(')
  if (open < 0) return `No parenthesis in method signature: ${JSON.stringify(signature)}`
  const close = matchingParenthesis(signature, open)
  if (close < 0) return `Unpaired parenthesis in method signature: ${JSON.stringify(signature)}`
  if (open === 0) return 'Method name must have length greater than zero'
  const args = splitTuple(signature.slice(open + 1, close))
  if (args === undefined) return `Error parsing argument types of ${JSON.stringify(signature)}`
  for (const [index, arg] of args.entries()) {
    const problem = special.has(arg) ? undefined : typeProblem(arg, 0)
    if (problem !== undefined) return `Error parsing argument type at index ${index}: ${problem}`
  }
  const returned = signature.slice(close + 1)
  const problem = returned === 'void' ? undefined : typeProblem(returned, 0)
  return problem === undefined ? undefined : `Error parsing return type: ${problem}`
}

function matchingParenthesis(text: string, open: number): number {
  let depth = 0
  for (let index = open; index < text.length; index++) {
    if (text[index] === '(') depth++
    if (text[index] === ')' && --depth === 0) return index
  }
  return -1
}

function splitTuple(text: string): string[] | undefined {
  if (text === '') return []
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index <= text.length; index++) {
    if (text[index] === '(') depth++
    if (text[index] === ')') depth--
    if (index === text.length || (text[index] === ',' && depth === 0)) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return depth === 0 && parts.every((part) => part !== '') ? parts : undefined
}

function typeProblem(type: string, depth: number): string | undefined {
  if (depth > maxDepth) return 'types are nested too deeply'
  const [, element] = /^(.+)\[(?:[1-9]\d*)?\]$/s.exec(type) ?? []
  if (element !== undefined) return typeProblem(element, depth + 1)
  const [, size] = /^uint([1-9]\d*)$/.exec(type) ?? []
  if (size !== undefined) {
    const isValid = Number(size) <= 512 && Number(size) % 8 === 0
    return isValid ? undefined : `unsupported uint type bitSize: ${size}`
  }
  if (/^ufixed[1-9]\d*x[1-9]\d*$/.test(type)) return undefined
  if (['byte', 'bool', 'address', 'string'].includes(type)) return undefined
  if (type.startsWith('(') && type.endsWith(')')) {
    const parts = splitTuple(type.slice(1, -1))
    for (const part of parts ?? []) {
      const problem = typeProblem(part, depth + 1)
      if (problem !== undefined) return problem
    }
    if (parts !== undefined) return undefined
  }
  return `cannot convert the string ${JSON.stringify(type)} to an ABI type`
}

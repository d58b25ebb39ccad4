// Reads the exports of an entry from its declarations: names, signatures and TSDoc.
import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'

const options = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  types: [],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

/**
 * The modules whose declarations are read: ours, and those whose types an entry passes on. Signatures are source text,
 * so they need no other; parsing the types of all dependencies would take most of the time. An export from a module
 * that is missing here has no documentation, which a test reports.
 */
const isRead = /^[.#]|^@latchkey\/|^@x402\/core\b/

/** @returns a function from an entry to its exports, sorted by name */
export function openEntries(entries) {
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, file, redirect) =>
    literals.map(({ text }) =>
      isRead.test(text)
        ? ts.resolveModuleName(text, file, options, host, undefined, redirect, ts.ModuleKind.ESNext)
        : { resolvedModule: undefined },
    )
  const program = ts.createProgram({ rootNames: entries.map(({ types }) => types), options, host })
  const checker = program.getTypeChecker()
  return ({ name, types }) => {
    const file = program.getSourceFile(types)
    const module = file === undefined ? undefined : checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${name} has no compiled types at ${types}; run npm run build`)
    return exportsOf(checker, module, '')
  }
}

function exportsOf(checker, module, prefix) {
  return checker
    .getExportsOfModule(module)
    .filter(({ name }) => name !== 'default')
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => readExport(checker, symbol, prefix))
}

function readExport(checker, symbol, prefix) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const name = `${prefix}${symbol.name}`
  const isNamespace = (target.flags & ts.SymbolFlags.ValueModule) !== 0
  // If a type and a value share a name, either one can carry the documentation.
  const declarations = target.declarations ?? []
  const own = commentOfStatement(symbol.declarations?.[0])
  const documented = documentation(checker, target, isNamespace)
  return {
    name,
    target,
    ...(own === '' ? documented : { ...documented, text: own }),
    isNamespace,
    members: isNamespace
      ? exportsOf(checker, target, `${name}.`)
      : declarations.flatMap((one) => membersOf(checker, one)),
    signatures: isNamespace ? [] : declarations.map(declarationText),
  }
}

function documentation(checker, symbol, isNamespace = false) {
  const tags = symbol
    .getJsDocTags(checker)
    .map(({ name, text }) => ({ name, text: plain(ts.displayPartsToString(text)) }))
  const text = plain(ts.displayPartsToString(symbol.getDocumentationComment(checker)))
  if (text !== '') return { text, tags }
  const [declaration] = symbol.declarations ?? []
  if (isNamespace) return { text: commentOfFile(declaration), tags }
  const [, other] =
    /\/node_modules\/(?!@latchkey\/)((?:@[^/]+\/)?[^/]+)\//.exec(declaration?.getSourceFile().fileName ?? '') ?? []
  if (other !== undefined) return { text: `Re-exported from \`${other}\`.`, tags }
  return { text: '', tags }
}

/** Turns TSDoc links into code, because headings are the only anchors on a page. */
function plain(text) {
  return text.replaceAll(/\{@link(?:code)? ([^}|]+?)(?:\s*\|[^}]*)?\}/g, (_, target) => `\`${target.trim()}\``).trim()
}

/**
 * Returns the comment above `export * as Name from`, and nothing for other exports: `export { A, B } from` has one comment
 * for several names. The comment at the top of a file describes the file, not its first export.
 */
function commentOfStatement(declaration) {
  if (declaration === undefined || !ts.isNamespaceExport(declaration)) return ''
  const comments = ts.getJSDocCommentsAndTags(declaration.parent).filter(({ pos }) => pos > 0)
  return plain(ts.getTextOfJSDocComment(comments.at(-1)?.comment) ?? '')
}

function commentOfFile(file) {
  return file === undefined || !ts.isSourceFile(file) ? '' : headerOf(file.fileName)
}

/**
 * Returns the header comment of the module with these declarations from its source, because the compiler drops the
 * comment along with an elided import.
 */
export function headerOf(types) {
  const source = types.replace('/dist/', '/src/').replace(/\.d\.ts$/, '.ts')
  const text = readFileSync(existsSync(source) ? source : types, 'utf8')
  // A comment directly above a declaration describes the declaration.
  const [, comment] = /^\/\*\*(.*?)\*\/\n(?=import|export (?:\*|\{|type \{)|\/\*\*|\n)/s.exec(text) ?? []
  return plain((comment ?? '').replaceAll(/^\s*\* ?/gm, '').replaceAll(/^@packageDocumentation$/gm, ''))
}

/** Returns the properties and methods of a class or object type, with their documentation. */
function membersOf(checker, declaration) {
  const nodes = []
  if (ts.isClassDeclaration(declaration)) nodes.push(...declaration.members)
  else if (ts.isTypeAliasDeclaration(declaration)) collectMembers(declaration.type, nodes)
  return nodes.filter((node) => node.name !== undefined && !isHidden(node)).map((node) => memberOf(checker, node))
}

function memberOf(checker, node) {
  const symbol = checker.getSymbolAtLocation(node.name)
  const { text, tags } = symbol === undefined ? { text: '', tags: [] } : documentation(checker, symbol)
  return { name: node.name.getText(), signatures: [declarationText(node)], text, tags, members: [] }
}

function collectMembers(type, nodes) {
  if (ts.isTypeLiteralNode(type)) nodes.push(...type.members)
  else if (ts.isIntersectionTypeNode(type)) for (const part of type.types) collectMembers(part, nodes)
  else if (ts.isTypeReferenceNode(type) && type.typeName.getText() === 'Readonly') {
    for (const part of type.typeArguments ?? []) collectMembers(part, nodes)
  }
}

function isHidden(node) {
  return (
    ts.isPrivateIdentifier(node.name) ||
    (ts.getCombinedModifierFlags(node) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0
  )
}

/** Returns the text of a declaration without comments and private members. */
function declarationText(declaration) {
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  const text = statement.getText()
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.Standard, text)
  let code = ''
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    const isComment = kind === ts.SyntaxKind.MultiLineCommentTrivia || kind === ts.SyntaxKind.SingleLineCommentTrivia
    if (!isComment) code += scanner.getTokenText()
  }
  return code
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*(#\w*;|private )/.test(line))
    .join('\n')
    .replace(/^export declare /, '')
    .replace(/^export /, '')
}

/**
 * Completion scripts for shells. The script contains every command, option and value, so that no program runs while
 * typing, except for the names of agents, which the daemon has.
 */
import type { Option, Options, Positional } from './Command.js'

export type CompletedCommand = {
  readonly name: string
  readonly summary: string
  readonly options: Options
  readonly positionals?: readonly Positional[]
}

export type Shell = keyof typeof shells

export const shells = { bash, zsh, fish } as const

/** For each prefix of a command's name, the words that can follow it and their summaries. */
function nextWords(commands: readonly CompletedCommand[]): Map<string, Map<string, string>> {
  const next = new Map<string, Map<string, string>>()
  for (const { name, summary } of commands) {
    const parts = name.split(' ')
    for (const [index, part] of parts.entries()) {
      const before = parts.slice(0, index).join(' ')
      const isLast = index === parts.length - 1
      const known = next.get(before) ?? new Map<string, string>()
      known.set(part, isLast ? summary : (known.get(part) ?? `${part} commands`))
      next.set(before, known)
    }
  }
  return next
}

const helpOption: Options = { help: { type: 'boolean', short: 'h', description: 'show the help of the command' } }

/**
 * Lists the names of the agents. Only plain names: a shell expands the words that it completes, and a name must not run
 * anything.
 */
const agentNames = `latchkey agent list 2>/dev/null | grep -oE '^[A-Za-z0-9_.-]+'`

/** Returns the values of the first positional that has any. */
function valuesOf(
  positionals: readonly Positional[] = [],
): { choices: readonly string[]; isAgent: boolean } | undefined {
  const choices = positionals.find((one) => one.choices !== undefined)?.choices
  const isAgent = positionals.some(({ completes }) => completes === 'agent')
  return choices === undefined && !isAgent ? undefined : { choices: choices ?? [], isAgent }
}

function bash(commands: readonly CompletedCommand[]): string {
  const next = [...nextWords(commands)].map(
    ([before, parts]) => `    '${before}') words='${[...parts.keys()].join(' ')}' ;;`,
  )
  const options = commands.map(({ name, options: own }) => {
    return `    '${name}') words='${Object.keys({ ...own, ...helpOption })
      .map((long) => `--${long}`)
      .join(' ')}' ;;`
  })
  const positionalValues = commands.flatMap(({ name, positionals }) => {
    const found = valuesOf(positionals)
    if (found === undefined) return []
    return [`    '${name}') words=${found.isAgent ? `"$(${agentNames})"` : `'${found.choices.join(' ')}'`} ;;`]
  })
  const values = commands.flatMap(({ name, options: own }) =>
    Object.entries(own).flatMap(([long, option]) => {
      const action = valueInBash(option)
      const patterns = [`'${name} --${long}'`, ...(option.short === undefined ? [] : [`'${name} -${option.short}'`])]
      return action === undefined ? [] : [`    ${patterns.join(' | ')}) ${action}; return ;;`]
    }),
  )
  return `# bash completion for latchkey
_latchkey() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command='' words='' index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    [[ \${COMP_WORDS[index]} == -* ]] && break
    command="\${command:+$command }\${COMP_WORDS[index]}"
  done
  # The longest prefix that is a command; what follows are its arguments.
  while [[ -n $command ]]; do
    case "$command" in
${commands.map(({ name }) => `    '${name}'`).join(' |\\\n')}) break ;;
    esac
    case "$command" in
${[...nextWords(commands).keys()]
  .filter((one) => one !== '')
  .map((one) => `    '${one}'`)
  .join(' |\\\n')}) break ;;
    esac
    [[ $command == *' '* ]] && command="\${command% *}" || command=''
  done
  case "$command $previous" in
${values.join('\n')}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${options.join('\n')}
    *) words='--help --version' ;;
    esac
  else
    case "$command" in
${[...positionalValues, ...next].join('\n')}
    *) compopt -o default; return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _latchkey latchkey
`
}

function valueInBash({ type, suggestions, choices = suggestions, completes }: Option): string | undefined {
  if (type === 'boolean') return undefined
  if (choices !== undefined) return `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current"))`
  if (completes === 'directory') return 'compopt -o dirnames'
  return completes === 'file' ? 'compopt -o default' : ':'
}

function zsh(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ name, options, positionals = [] }) => {
    const specs = Object.entries({ ...options, ...helpOption }).flatMap(([long, option]) => specsInZsh(long, option))
    const found = valuesOf(positionals)
    const isFile = positionals.some(({ completes }) => completes !== undefined)
    const files =
      found === undefined
        ? isFile
          ? `'*:file:_files'`
          : `'*: :'`
        : inZsh(found.isAgent ? `1:agent:{compadd -- $(${agentNames})}` : `1:value:(${found.choices.join(' ')})`)
    return `    ${inZsh(name)}) _arguments -s ${[...specs, files].join(' ')} ;;`
  })
  const next = [...nextWords(commands)].map(([before, parts]) => {
    const listed = [...parts].map(([part, summary]) => inZsh(`${part}:${summary.replaceAll(':', '\\:')}`))
    return `  ${inZsh(before)}) choices=(${listed.join(' ')}) ;;`
  })
  return `#compdef latchkey
_latchkey() {
  local -a typed choices
  local command='' found='' position=0 index
  typed=("\${words[@]:1:$((CURRENT - 2))}")
  for ((index = 1; index <= $#typed; index++)); do
    [[ $typed[index] == -* ]] && break
    command="\${command:+$command }$typed[index]"
    case $command in
    ${commands.map(({ name }) => inZsh(name)).join('|')}) found=$command position=$index ;;
    esac
  done
  case $command in
${next.join('\n')}
  esac
  # A command can be the beginning of others, as kmd is of kmd start.
  if [[ -n $found && ( $#choices -eq 0 || $words[CURRENT] == -* ) ]]; then
    words=(latchkey "\${(@)words[position + 2,-1]}")
    ((CURRENT -= position))
    _latchkey_options "$found"
    return
  fi
  _describe command choices
}
_latchkey_options() {
  case $1 in
${cases.join('\n')}
  esac
}
_latchkey "$@"
`
}

function specsInZsh(
  long: string,
  { type, short, description, placeholder = 'VALUE', suggestions, choices = suggestions, completes, multiple }: Option,
): string[] {
  const text = description.replace(/[[\]]/g, '\\$&').replaceAll(':', '\\:')
  const files = completes === 'directory' ? '_files -/' : completes === 'file' ? '_files' : ' '
  const action = choices === undefined ? files : `(${choices.join(' ')})`
  const end = type === 'boolean' ? '' : `:${placeholder}:${action}`
  const star = multiple ? '*' : ''
  const names = short === undefined ? [`--${long}`] : [`--${long}`, `-${short}`]
  return names.map((name) => inZsh(`${star}${name}[${text}]${end}`))
}

const inZsh = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function fish(commands: readonly CompletedCommand[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const next = [...nextWords(commands)].flatMap(([before, parts]) =>
    [...parts].map(
      ([part, summary]) =>
        `complete -c latchkey -f -n ${quoted(`__latchkey_typed ${before}`.trim())} -a ${quoted(part)} -d ${quoted(summary)}`,
    ),
  )
  const options = commands.flatMap(({ name, options: own }) =>
    Object.entries({ ...own, ...helpOption }).map(([long, option]) => {
      const parts = ['complete -c latchkey -n', quoted(`__latchkey_in ${name}`), '-l', long]
      if (option.short !== undefined) parts.push('-s', option.short)
      if (option.type === 'string') parts.push(option.completes === undefined ? '-x' : '-r')
      const listed = option.choices ?? option.suggestions
      if (listed !== undefined) parts.push('-a', quoted(listed.join(' ')))
      return [...parts, '-d', quoted(option.description)].join(' ')
    }),
  )
  const positionalValues = commands.flatMap(({ name, positionals }) => {
    const found = valuesOf(positionals)
    if (found === undefined) return []
    const listed = found.isAgent ? `(${agentNames})` : found.choices.join(' ')
    return [`complete -c latchkey -f -n ${quoted(`__latchkey_typed ${name}`)} -a ${quoted(listed)}`]
  })
  return `# fish completion for latchkey
function __latchkey_typed
    set -l typed (commandline -opc)
    test "$typed[2..-1]" = "$argv"
end
function __latchkey_in
    set -l typed (commandline -opc)
    test (count $typed) -gt (count $argv); and test "$typed[2..$(math (count $argv) + 1)]" = "$argv"
end
${[...next, ...positionalValues, ...options].join('\n')}
`
}

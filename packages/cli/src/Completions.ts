/** Scripts that complete the command line. They hold every command and option, so that nothing runs while one types. */
import type { Argument, Option, Options } from './Command.js'

export type Word = {
  readonly name: string
  readonly about: string
  readonly options: Options
  readonly takes?: readonly Argument[]
}

export type Shell = keyof typeof shells

export const shells = { bash, zsh, fish } as const

/** What may come next after some words of a command's name. */
function nextWords(words: readonly Word[]): Map<string, Map<string, string>> {
  const next = new Map<string, Map<string, string>>()
  for (const { name, about } of words) {
    const parts = name.split(' ')
    for (const [index, part] of parts.entries()) {
      const before = parts.slice(0, index).join(' ')
      const isLast = index === parts.length - 1
      const known = next.get(before) ?? new Map<string, string>()
      known.set(part, isLast ? about : (known.get(part) ?? `commands about ${part}`))
      next.set(before, known)
    }
  }
  return next
}

const helpOption: Options = { help: { type: 'boolean', short: 'h', about: 'tell about the command' } }

function bash(words: readonly Word[]): string {
  const next = [...nextWords(words)].map(
    ([before, parts]) => `    '${before}') words='${[...parts.keys()].join(' ')}' ;;`,
  )
  const options = words.map(({ name, options: own }) => {
    return `    '${name}') words='${Object.keys({ ...own, ...helpOption })
      .map((long) => `--${long}`)
      .join(' ')}' ;;`
  })
  const values = words.flatMap(({ name, options: own }) =>
    Object.entries(own).flatMap(([long, option]) => {
      const say = valueInBash(option)
      const patterns = [`'${name} --${long}'`, ...(option.short === undefined ? [] : [`'${name} -${option.short}'`])]
      return say === undefined ? [] : [`    ${patterns.join(' | ')}) ${say}; return ;;`]
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
  # The longest beginning that is a command; what follows are its arguments.
  while [[ -n $command ]]; do
    case "$command" in
${words.map(({ name }) => `    '${name}'`).join(' |\\\n')}) break ;;
    esac
    case "$command" in
${[...nextWords(words).keys()]
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
${next.join('\n')}
    *) compopt -o default; return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _latchkey latchkey
`
}

function valueInBash({ type, choices, completes }: Option): string | undefined {
  if (type === 'boolean') return undefined
  if (choices !== undefined) return `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current"))`
  if (completes === 'directory') return 'compopt -o dirnames'
  return completes === 'file' ? 'compopt -o default' : ':'
}

function zsh(words: readonly Word[]): string {
  const cases = words.map(({ name, options, takes = [] }) => {
    const specs = Object.entries({ ...options, ...helpOption }).flatMap(([long, option]) => specsInZsh(long, option))
    const files = takes.some(({ completes }) => completes !== undefined) ? `'*:file:_files'` : `'*: :'`
    return `    ${inZsh(name)}) _arguments -s ${[...specs, files].join(' ')} ;;`
  })
  const next = [...nextWords(words)].map(([before, parts]) => {
    const listed = [...parts].map(([part, about]) => inZsh(`${part}:${about.replaceAll(':', '\\:')}`))
    return `  ${inZsh(before)}) choices=(${listed.join(' ')}) ;;`
  })
  return `#compdef latchkey
_latchkey() {
  local -a typed choices
  local command='' index
  typed=("\${words[@]:1:$((CURRENT - 2))}")
  for ((index = 1; index <= $#typed; index++)); do
    [[ $typed[index] == -* ]] && break
    command="\${command:+$command }$typed[index]"
    case $command in
    ${words.map(({ name }) => inZsh(name)).join('|')})
      words=(latchkey "\${(@)words[index + 2,-1]}")
      ((CURRENT -= index))
      _latchkey_options "$command"
      return ;;
    esac
  done
  case $command in
${next.join('\n')}
  esac
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
  { type, short, about, value = 'VALUE', choices, completes, multiple }: Option,
): string[] {
  const text = about.replace(/[[\]]/g, '\\$&').replaceAll(':', '\\:')
  const files = completes === 'directory' ? '_files -/' : completes === 'file' ? '_files' : ' '
  const action = choices === undefined ? files : `(${choices.join(' ')})`
  const end = type === 'boolean' ? '' : `:${value}:${action}`
  const star = multiple ? '*' : ''
  const names = short === undefined ? [`--${long}`] : [`--${long}`, `-${short}`]
  return names.map((name) => inZsh(`${star}${name}[${text}]${end}`))
}

const inZsh = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function fish(words: readonly Word[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const next = [...nextWords(words)].flatMap(([before, parts]) =>
    [...parts].map(
      ([part, about]) =>
        `complete -c latchkey -f -n ${quoted(`__latchkey_typed ${before}`.trim())} -a ${quoted(part)} -d ${quoted(about)}`,
    ),
  )
  const options = words.flatMap(({ name, options: own }) =>
    Object.entries({ ...own, ...helpOption }).map(([long, option]) => {
      const parts = ['complete -c latchkey -n', quoted(`__latchkey_in ${name}`), '-l', long]
      if (option.short !== undefined) parts.push('-s', option.short)
      if (option.type === 'string') parts.push(option.completes === undefined ? '-x' : '-r')
      if (option.choices !== undefined) parts.push('-a', quoted(option.choices.join(' ')))
      return [...parts, '-d', quoted(option.about)].join(' ')
    }),
  )
  return `# fish completion for latchkey
function __latchkey_typed
    set -l typed (commandline -opc)
    test "$typed[2..-1]" = "$argv"
end
function __latchkey_in
    set -l typed (commandline -opc)
    test (count $typed) -gt (count $argv); and test "$typed[2..$(math (count $argv) + 1)]" = "$argv"
end
${[...next, ...options].join('\n')}
`
}

export { type Assembly, AssemblyError, assemble } from './assembler/assemble.js'
export type { Message } from './assembler/Program.js'
export { type Disassembly, disassemble } from './disassembler/disassemble.js'
export { errors } from './errors.js'

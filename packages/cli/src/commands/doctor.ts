/** `latchkey doctor`: checks the setup and names the fix for each problem. */
import { command, jsonOption } from '../Command.js'
import { chainOptions, openChain } from '../chain.js'
import { daemonOptions, dataDirectory } from '../daemon.js'
import { checkDirectory } from '../doctor/dataDirectory.js'
import type { Finding } from '../doctor/Finding.js'
import { checkMachine } from '../doctor/machine.js'
import { checkDaemon, checkFacilitator, checkNode, checkPayer } from '../doctor/services.js'
import { exitCodes } from '../exitCodes.js'
import { wrap } from '../help.js'
import { printJson, printStyledLine, withProgress } from '../messages.js'
import * as StackPointer from '../stack/StackPointer.js'
import { isStackUsed } from '../stack/stackValues.js'
import type { Span } from '../style.js'

export const doctorCommand = command({
  description: `Check this machine, the daemon, its data directory and its settings; also the node, the facilitator and \
the paying account if --node, FACILITATOR_URL or KMD_KEY name them. Each line is ok, warning or fault, followed by the fix.`,
  options: { ...daemonOptions, ...chainOptions, ...jsonOption },
  notes: 'The command changes nothing and needs no password.',
  examples: ['latchkey doctor', 'latchkey doctor --network local --node http://127.0.0.1:4001'],
  run: async ({ options }) => {
    const environment = process.env
    const dataDir = dataDirectory(options['data-dir'])
    const findings: Finding[] = [
      ...checkMachine(environment),
      ...(await checkDirectory(dataDir, { isDevStack: isStackUsed() || StackPointer.isRunningIn(dataDir) })),
    ]
    const checkServices = async (): Promise<void> => {
      findings.push(...(await checkDaemon(dataDir)))
      const isNodeNamed = options.node !== undefined || options.network !== undefined || environment['ALGOD_URL']
      if (isNodeNamed) {
        const { finding, chain } = await checkNode(() => openChain(options, environment, { isReadOnly: true }))
        findings.push(finding)
        const payer = environment['KMD_KEY'] || environment['AVM_ADDRESS']
        if (chain !== undefined && payer) findings.push(...(await checkPayer(chain, payer)))
      }
      const { FACILITATOR_URL: facilitator = '' } = environment
      if (facilitator !== '') findings.push(await checkFacilitator(facilitator))
    }
    await withProgress('Checking the daemon and the network', checkServices())
    if (options.json) printJson({ findings })
    else for (const line of findings.flatMap((one) => linesOf(one, process.stdout))) printStyledLine(line)
    return findings.some(({ state }) => state === 'fault') ? exitCodes.failed : exitCodes.ok
  },
})

const styles = { ok: 'green', warning: 'yellow', fault: 'red' } as const
const stateWidth = 9

/** On a terminal, long lines are wrapped between words. */
function linesOf({ state, text, cure }: Finding, { isTTY, columns = 0 }: NodeJS.WriteStream): Span[][] {
  const width = isTTY && columns > 2 * stateWidth ? columns : Number.POSITIVE_INFINITY
  const [first = '', ...others] = wrap(text, stateWidth, width).split('\n')
  const cured = cure === undefined ? [] : wrap(`cure: ${cure}`, stateWidth, width).split('\n')
  const indent = ' '.repeat(stateWidth)
  return [
    [[styles[state], state], ' '.repeat(stateWidth - state.length), first],
    ...[...others, ...cured].map((line) => [indent + line.trimStart()]),
  ]
}

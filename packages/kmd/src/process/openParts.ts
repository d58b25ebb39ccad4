/** Opens the parts of a running daemon in order, and connects them. Each part has its own `close`. */
import { join } from 'node:path'
import * as Libsodium from '@latchkey/algorand/sodium'
import type { ConnectionEnds, RawHandler, RawRequest } from '@latchkey/http'
import type { Wire } from '@latchkey/kmd-api'
import { KeptSignatures } from '../activity/KeptSignatures.js'
import { reportingLog, SignatureLog } from '../activity/SignatureLog.js'
import type { Agents } from '../agents/Agents.js'
import * as AgentToken from '../agents/AgentToken.js'
import { ReservationKeeper } from '../agents/ReservationKeeper.js'
import type { AgentContext, Context, OwnerContext } from '../api/Context.js'
import type { LedgerClient } from '../api/NodeClient.js'
import type { AuditEvent } from '../audit/AuditChain.js'
import { Recorder } from '../audit/Recorder.js'
import { Sessions } from '../console/Sessions.js'
import { Tickets } from '../console/Tickets.js'
import { Contacts } from '../contacts/Contacts.js'
import { KmdError, StartError } from '../errors.js'
import { RequestHandler, tooManyConnections } from '../RequestHandler.js'
import type { State } from '../state/openState.js'
import { version } from '../version.js'
import { PendingBackups } from '../wallet/PendingBackups.js'
import { openAgentParts } from './agentParts.js'
import { accessOf, type DaemonAppOptions, logSettingsOf, overriddenBy, wireOf } from './appSettings.js'
import { Closers } from './Closers.js'
import { type Config, type NodeSetting, settingNames } from './Config.js'
import { openDaemonState } from './daemonState.js'
import { type DataDirectory, openDataDirectory } from './dataDirectory.js'
import { explain, type Log } from './Log.js'
import * as MetricsToken from './MetricsToken.js'
import { makeMetrics } from './makeMetrics.js'
import { type Nodes, nodeTimeoutMs, openNodes } from './openNodes.js'
import { PeerUsers } from './PeerUsers.js'
import * as Settings from './Settings.js'
import * as Token from './Token.js'
import { type Holder, UnixConnections } from './UnixConnections.js'
import { openWalletParts, type WalletParts } from './walletParts.js'

export type Parts = {
  handler: RequestHandler
  handleUnix: RawHandler
  config: Config
  wire: Wire
  warnings: readonly string[]
  tickets: Tickets
  stopWaiting: Closers
  closers: Closers
  /** The settings overridden by options. */
  overridden: ReadonlySet<keyof Config>
  /** Applies settings that need no restart. */
  apply: (config: Config) => void
  replaceNode: (config: Config) => void
}

/** Needed by most parts. */
type Environment = { readonly options: DaemonAppOptions; readonly log: Log; readonly directory: DataDirectory }

/**
 * If a part cannot be opened, those opened before are closed.
 *
 * @throws {@link StartError} with a code for each reason.
 */
export async function openParts(options: DaemonAppOptions, log: Log): Promise<Parts> {
  const { dataDir, onWorkerStart } = options
  if (dataDir === '') throw new StartError('blank_data_dir')
  Libsodium.check()
  const closers = new Closers()
  try {
    const directory = closers.use(openDataDirectory(options, log))
    const { config, walletsDir } = directory
    const environment = { options, log, directory }
    const walletParts = closers.use(openWalletParts({ dataDir, walletsDir, config, log, onWorkerStart }))
    const nodes = closers.use(openNodeParts(options.node, config))
    const state = closers.use(openDaemonState({ dataDir, config, log, wallets: walletParts.wallets }))
    const { unix, userOf } = openPeers(directory, state.agents)
    const onWarning = (text: string): void => log.write('warning', text)
    const lifetimes = Settings.lifetimes(config)
    const agentParts = openAgentParts({ agents: state.agents, lifetimes, userOf, onWarning })
    const context = makeContext(environment, { walletParts, nodes, state, agentParts })
    closers.use(context.keptSignatures)
    closers.use(startKeeper(state.agents, nodes, log))
    const recorder = closers.use(openRecorder(context, config, log))
    const wire = wireOf(options, config)
    const handler = makeHandler(environment, { context, recorder, wire })
    const refusals = {
      user: () => handler.refuse(new KmdError('forbidden_user')),
      connections: () => handler.refuse(tooManyConnections()),
    }
    return {
      handler,
      config,
      wire,
      closers,
      tickets: context.tickets,
      handleUnix: unix.guard((request) => handler.handle(request), refusals),
      warnings: logWarnings(directory, log),
      stopWaiting: openWaiting(environment, { context, recorder }),
      overridden: overriddenBy(options),
      apply: applying(environment, { context, recorder, handler }),
      replaceNode: nodes.replace,
    }
  } catch (error) {
    await closers
      .close()
      .catch((failure) => log.write('error', `cleaning up after a failed start failed: ${explain(failure)}`))
    throw error
  }
}

type Peers = { unix: UnixConnections; userOf: (ends: ConnectionEnds) => Promise<number | undefined> }

/** Determines the users of local connections. */
function openPeers({ config, token }: DataDirectory, agents: Agents): Peers {
  const peers = new PeerUsers()
  const { unixSocketUids: users, unixSocketGroup } = config
  const holderOf = (request: RawRequest): Holder | undefined => {
    if (token.matches(request.header(AgentToken.tokenHeader))) return { type: 'owner' }
    const name = agentOf(request, agents)
    return name === undefined ? undefined : { type: 'named', name }
  }
  const unix = new UnixConnections({ peers, users, isShared: unixSocketGroup !== '', holderOf })
  return { unix, userOf: (ends) => (unix.has(ends) ? unix.userOf(ends) : peers.of(ends)) }
}

/** The id of the agent whose valid token a request has. */
function agentOf(request: RawRequest, agents: Agents): string | undefined {
  try {
    const token = AgentToken.ofRequest(request)
    const session = token === undefined ? undefined : agents.authenticate(token)
    if (session !== undefined) agents.release(session)
    return session?.agentId
  } catch {
    // Its user is looked up after those of others. The handler then says what is wrong with the token.
    return undefined
  }
}

type ContextParts = { walletParts: WalletParts; nodes: NodeParts; state: State; agentParts: AgentContext }

function makeContext(environment: Environment, { walletParts, nodes, state, agentParts }: ContextParts): Context {
  const { options, log } = environment
  const { wallets, handles, throttle } = walletParts
  const { audit, agents, approvals } = state
  return {
    wallets,
    handles,
    throttle,
    audit,
    agents,
    approvals,
    version,
    tickets: new Tickets(),
    sessions: new Sessions(),
    ...openSignatures(options, log),
    ...openOwnerFiles(options.dataDir, log),
    ...agentParts,
    get node() {
      return nodes.node
    },
    startedAtMs: Date.now(),
    lostLogLines: () => log.lostLines,
    command: options.command ?? [],
  }
}

/** Starts the periodic maintenance of agents. */
function startKeeper(agents: Agents, nodes: NodeParts, log: Log): ReservationKeeper {
  const node = (): LedgerClient | undefined => nodes.ledger
  agents.useNode(node)
  const onFailure = (error: unknown): void => log.write('error', `agent maintenance failed: ${explain(error)}`)
  const keeper = new ReservationKeeper({ agents, node, onFailure })
  keeper.start()
  return keeper
}

type HandlerParts = { context: Context; recorder: Recorder; wire: Wire }

function makeHandler(
  { options, log, directory }: Environment,
  { context, recorder, wire }: HandlerParts,
): RequestHandler {
  const { dataDir, onActivity } = options
  const { handles, wallets } = context
  return new RequestHandler({
    context,
    recorder,
    wire,
    token: directory.token,
    isMetricsToken: (authorization) => MetricsToken.matches(dataDir, authorization),
    ...accessOf(options, directory.config),
    metrics: makeMetrics({ handles, wallets, log, recorder }),
    ...(onActivity && { onActivity }),
    onFailure: (operation, error, requestId) =>
      log.write('error', `${operation}: ${explain(error)}`, { request_id: requestId }),
  })
}

type Recorded = { context: Context; recorder: Recorder }

/** Everything that keeps requests waiting or watches files; closed first. */
function openWaiting({ options, log, directory }: Environment, { context, recorder }: Recorded): Closers {
  const { throttle, approvals, sessions, tickets } = context
  const waiting = new Closers()
  waiting.use(throttle)
  waiting.use(approvals)
  const take = (newToken: string): void => {
    directory.token.replace(newToken)
    // Sessions and tickets were opened with the old token.
    sessions.clear()
    tickets.clear()
    void recorder.note({ event: 'token_changed', actor: { type: 'daemon' } })
  }
  waiting.add(Token.follow(options.dataDir, { take, log }))
  return waiting
}

function logWarnings({ config, unknown }: DataDirectory, log: Log): readonly string[] {
  const warnings = [...Settings.findWarnings(config), ...unknown]
  for (const warning of warnings) log.write('warning', warning)
  return warnings
}

/** Returns the function that applies changed settings. */
function applying(
  { options, log, directory }: Environment,
  { context, recorder, handler }: Recorded & { handler: RequestHandler },
): (changed: Config) => void {
  let inForce = directory.config
  return (changed) => {
    context.handles.configure(Settings.lifetimes(changed))
    context.agentHandles.configure(Settings.lifetimes(changed))
    handler.configure(accessOf(options, changed))
    log.configure(logSettingsOf(options, changed))
    recorder.configure(changed.audit)
    void recorder.note(settingsChanged(inForce, changed))
    inForce = changed
  }
}

/** Nothing is read before the first request that needs it. */
function openOwnerFiles(dataDir: string, log: Log): OwnerContext {
  const onFailure = (error: unknown): void =>
    log.write('error', `a new wallet could not be marked as not backed up: ${explain(error)}`)
  return {
    contacts: new Contacts({ file: join(dataDir, 'latchkey_contacts.json') }),
    pendingBackups: new PendingBackups({ file: join(dataDir, 'latchkey_backups.json'), onFailure }),
  }
}

/** The signatures since the start, and those of earlier runs. */
function openSignatures(options: DaemonAppOptions, log: Log): Pick<Context, 'signatureLog' | 'keptSignatures'> {
  const signatureLog = openSignatureLog(options, log)
  const onFailure = (error: unknown): void =>
    log.write('error', `the list of recent signatures is not kept: ${explain(error)}`)
  const file = join(options.dataDir, 'latchkey_signatures.json')
  return { signatureLog, keptSignatures: new KeptSignatures({ log: signatureLog, file, onFailure }) }
}

function openSignatureLog({ onSignature }: DaemonAppOptions, log: Log): SignatureLog {
  if (onSignature === undefined) return new SignatureLog()
  return reportingLog((signature) => {
    try {
      onSignature(signature)
    } catch (error) {
      log.write('error', `onSignature failed: ${explain(error)}`)
    }
  })
}

/** Opens a running daemon's recorder of audit records. */
function openRecorder(context: Context, { audit: mode }: Config, log: Log): Recorder {
  const onLost = ({ event }: AuditEvent, error: unknown): void =>
    log.write('error', `not recorded in the audit log: ${event}: ${explain(error)}`)
  return new Recorder({ log: context.audit, context, mode, onLost })
}

/** Records only the names, because a value may be a node's token. */
function settingsChanged(before: Config, after: Config): AuditEvent {
  const changed = (Object.keys(settingNames) as (keyof Config)[]).filter(
    (setting) => before[setting] !== after[setting],
  )
  const detail = { settings: changed.map((setting) => settingNames[setting].name), audit: after.audit }
  return { event: 'settings_changed', actor: { type: 'daemon' }, detail }
}

/** A running daemon's Algorand nodes, which a changed setting replaces. */
type NodeParts = Nodes & {
  /** Uses the nodes of changed settings from now on. */
  readonly replace: (config: Config) => void
}

/**
 * @param address overrides `algod` in kmd_config.json
 * @throws AlgodError `invalid_options` for an invalid URL, or a witness that is the node itself
 */
function openNodeParts(address: NodeSetting | undefined, config: Config): NodeParts {
  const open = ({ algod, algodWitnesses }: Config): Nodes => openNodes(address ?? algod, algodWitnesses)
  let current = open(config)
  return {
    get node() {
      return current.node
    },
    get ledger() {
      return current.ledger
    },
    replace: (changed) => {
      const old = current
      current = open(changed)
      // Requests in progress still use them.
      setTimeout(() => void old.close(), nodeTimeoutMs).unref()
    },
    close: () => current.close(),
  }
}

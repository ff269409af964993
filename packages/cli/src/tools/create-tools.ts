import { type Answer, type Api, createApi, exchange, type Request, type Session, sendOnce } from '../api/api-client.ts'
import { contextSession, givenSession } from '../api/session.ts'
import { type EndLook, lookForUpdate } from '../api/update-notice.ts'
import { type ContextStore, openContexts } from '../command-line/contexts.ts'
import { type Failure, usageFailure } from '../command-line/exit-codes.ts'
import type { GlobalInput } from '../command-line/options.ts'
import {
  type Connection,
  type Formats,
  isAtContext,
  placeOf,
  readSettings,
  resolveConnection,
  type Settings,
} from '../command-line/settings.ts'
import { renderFailure } from '../output/render.ts'
import type { OpenBrowser } from '../terminal/find-browser.ts'
import { createIo, type Io, type World } from '../terminal/io.ts'
import { declined, type Prompt, terminalPrompt } from '../terminal/prompt.ts'

/** The tools of a command. */
export interface Tools {
  io: Io
  settings: Settings
  prompt: Prompt
  /** Undefined if there is no browser to open a page in. */
  openBrowser: OpenBrowser | undefined
  contexts: ContextStore
  now(): number
  sleep(milliseconds: number): Promise<void>
  /** Reports this failure at Ctrl-C. Returns a function that cancels this. */
  onInterrupt(failure: () => Failure): () => void
  /** Which service to call, and as which user. `mayBeNew` is for commands that create the context they name. */
  connect(options?: { mayBeNew?: boolean }): Connection
  /**
   * A notice, once a day, if the service is newer than this program. Call it at the end of a command that has called the service.
   */
  updateNotice(): string | undefined
  /** Where it acts: `in production (https://auth.example.com)`. */
  place(): string
  /** As the signed-in user. */
  readonly api: Api
  /** As the signed-in user, even with --dry-run: for calls that the service itself can rehearse. */
  readonly rehearsalApi: Api
  /** As the signed-in user, for writes that depend on each other: with --dry-run nothing is sent. */
  readonly planningApi: Api
  /** As the signed-in user, without retries: for a screen or page that is shown while the service is away. */
  readonly watchingApi: Api
  /** Ends the program with this exit code, even if it still waits for something. */
  leave(exit: number): void
  /** Without a session. */
  anonymousApi(baseUrl: string): Api
  /** Sends one GET without a session and without retries. Returns the answer whatever its status. `path` is below `/api/v1`. */
  probe(path: string): Promise<Answer>
  /** Sends a request unchanged, as the signed-in user. `path` may or may not begin with `/api/v1`. */
  call(request: Omit<Request, 'url'> & { path: string }): Promise<Answer>
}

export function createTools(world: World, input: GlobalInput, formats?: Formats): Tools {
  const settings = readSettings(input, { isTerminal: Boolean(world.stdout.isTTY), formats })
  const io = createIo(world, settings)
  const contexts = openContexts(world.configFolder)
  const connect = (options?: { mayBeNew?: boolean }) => resolveConnection(input, world.env, contexts.read(), options)
  let confirmed: Promise<void> | undefined
  const beforeWrite = () => {
    confirmed ??= confirmProtected({ settings, io, prompt: terminalPrompt }, connect())
    return confirmed
  }
  const wire = { world, io, settings, beforeWrite }

  let session: Session | undefined
  let api: Api | undefined
  let endLook: EndLook | undefined
  const openSession = (connection: Connection) => {
    session ??= connection.token === undefined ? contextSession(wire, contexts, connection) : givenSession(connection.token)
    return session
  }
  return {
    io,
    settings,
    prompt: terminalPrompt,
    openBrowser: world.openBrowser,
    contexts,
    now: world.now,
    sleep: world.sleep,
    onInterrupt: (failure) =>
      world.onInterrupt(() => {
        io.showProgress(undefined)
        renderFailure(failure(), { asJson: settings.asksForJson, debug: false }, world.stderr)
      }),
    connect,
    updateNotice: () => endLook?.(),
    place: () => placeOf(connect()),
    get api() {
      if (!api) {
        const connection = connect()
        endLook = lookForUpdate(world, { baseUrl: connection.baseUrl, isQuiet: settings.quiet || settings.asksForJson })
        api = createApi(wire, connection.baseUrl, openSession(connection))
      }
      return api
    },
    get rehearsalApi() {
      const connection = connect()
      return createApi({ ...wire, settings: { ...settings, dryRun: false } }, connection.baseUrl, openSession(connection))
    },
    get planningApi() {
      const connection = connect()
      return createApi({ ...wire, plansAlone: true }, connection.baseUrl, openSession(connection))
    },
    get watchingApi() {
      const connection = connect()
      return createApi({ ...wire, sendsOnce: true }, connection.baseUrl, openSession(connection))
    },
    leave: world.leave,
    anonymousApi: (baseUrl) => createApi(wire, baseUrl, undefined),
    probe: (path) => sendOnce(wire, { method: 'GET', url: `${connect().baseUrl}/api/v1${path}`, body: undefined }, undefined),
    call({ path, ...request }) {
      const connection = connect()
      const below = `/${path.replace(/^\/+/, '').replace(/^api\/v1\//, '')}`
      return exchange(wire, { ...request, url: `${connection.baseUrl}/api/v1${below}` }, openSession(connection))
    },
  }
}

interface Asking {
  settings: Pick<Settings, 'yes' | 'dryRun'>
  io: Pick<Io, 'canAsk' | 'complain' | 'showProgress'>
  prompt: Prompt
}

/**
 * Confirms the first write of a command in a protected context: the user types the name of the context. A script names the
 * context with --context and adds --yes. A context that the environment or `context use` chose does not count as named.
 */
async function confirmProtected({ settings, io, prompt }: Asking, connection: Connection): Promise<void> {
  const { contextName, context, isContextNamed } = connection
  if (settings.dryRun || !context?.protected || !isAtContext(connection)) return
  if (!io.canAsk) {
    if (isContextNamed && settings.yes) return
    throw usageFailure(
      `the context ${contextName} is protected: to write ${placeOf(connection)} without a terminal, --context ${contextName} and --yes are required`,
      'nothing was done',
    )
  }
  io.showProgress(undefined)
  io.complain(`*** PROTECTED: this writes ${placeOf(connection)} ***`)
  if ((await prompt.text(`To continue, type ${contextName}:`)) !== contextName) throw declined()
}

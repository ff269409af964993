import { parseEnv } from 'node:util'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf, inTurn } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { secretHint, secretPlaceholder, variablesOf } from '../nouns/app-environment.ts'
import { appBody, inFlags } from '../nouns/app-settings.ts'
import { dotenvLines, type Result, rowsOf } from '../output/render.ts'
import { readIfThere, writeFile } from '../terminal/write-file.ts'
import { toCommandLine } from '../text/shell-words.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Framework, renderPermissionFile, snippetFor } from './backend-files.ts'
import { type Development, describeAccess, equip } from './development.ts'
import { grantFirst } from './grant-first.ts'
import { commandLine, type Journal, note } from './journal.ts'

type App = components['schemas']['App']

/** What to set up for an app. Undefined skips a step. */
export interface Onboarding {
  code: string
  /** The app, if it exists already. */
  existing: App | undefined
  settings: Parameters<typeof appBody>[0] & { name: string }
  user: { ref: string; id: string } | undefined
  envFile: string | undefined
  permissionFile: string | undefined
  framework: Framework | undefined
  /** Asks again for what the service refused, and returns all answers. Throws the refusal if no answer can change it. */
  correct?: (refusal: Failure, wanted: Onboarding) => Promise<Onboarding>
  /** Set by --dev. */
  development?: Development
}

/** Renders the .env file of a backend. In development, it holds the secret of the service and the token of a service account. */
export function renderEnvironment(
  { connect }: Tools,
  app: Pick<App, 'id' | 'code'>,
  { secret, serviceToken }: Partial<Development> = {},
): string {
  const account: Record<string, string> = serviceToken === undefined ? {} : { SERVICE_ACCOUNT_TOKEN: serviceToken }
  return `${dotenvLines({ ...variablesOf(app, connect().baseUrl, secret), ...account }).join('\n')}\n`
}

const nameOf = (line: string) => /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/.exec(line)?.[1]

/**
 * The settings within a file that is there: lines of other names and comments stay as they are, and new lines come last. `changed`
 * names the settings that had another value. A placeholder replaces nothing.
 */
export function mergeEnvironment(before: string | undefined, settings: string): { content: string; changed: string[] } {
  if (before === undefined || before.trim() === '') return { content: settings, changed: [] }
  const wanted = new Map(settings.split('\n').flatMap((line) => (nameOf(line) ? [[nameOf(line)!, line] as const] : [])))
  const [were, become] = [parseEnv(before), parseEnv(settings)]
  for (const [name, value] of Object.entries(become)) {
    const isKept = were[name] === value || (were[name] && value === secretPlaceholder)
    if (isKept) wanted.delete(name)
  }
  const changed = [...wanted.keys()].filter((name) => were[name])
  const kept = before.replace(/\r?\n$/, '').split('\n')
  // Of several lines with one name the last one counts, so each is replaced.
  const lines = kept.map((line) => wanted.get(nameOf(line) ?? '') ?? line)
  const added = [...wanted].filter(([name]) => !kept.some((line) => nameOf(line) === name)).map(([, line]) => line)
  return { content: `${[...lines, ...added].join('\n')}\n`, changed }
}

/** Runs all steps. `replaceable` names the existing files that may be replaced. A failure lists what was done before it. */
export async function onboard(tools: Tools, wanted: Onboarding, replaceable: ReadonlySet<string>): Promise<Result> {
  const journal: Journal = { steps: [], commands: [] }
  try {
    return await takeSteps(tools, { ...wanted, replaceable }, journal)
  } catch (error) {
    if (!(error instanceof Failure) || journal.steps.length === 0) throw error
    const { ending, message, code, requestId, hint } = error
    const done = journal.steps.map(({ step, outcome }) => `${step} ${outcome}`).join(', ')
    throw new Failure(ending, message, {
      code,
      requestId,
      hint: [...(hint ? [hint] : []), `done before that: ${done}`, '--if-exists skip continues from there'].join('\n'),
      cause: error,
    })
  }
}

async function takeSteps(
  tools: Tools,
  wanted: Onboarding & { replaceable: ReadonlySet<string> },
  journal: Journal,
): Promise<Result> {
  const { io, settings } = tools
  const { existing, user, envFile, permissionFile, framework } = wanted
  let { code } = wanted
  let app = existing
  const create = async () => {
    app = await createApp(tools, wanted, journal)
    code = app.code
  }
  if (settings.dryRun) {
    for (const file of [envFile, permissionFile]) if (file !== undefined) io.note(`${file} would be written (--dry-run)`)
    if (wanted.development) io.note('a service account, a user with access, and a token would follow (--dry-run)')
  }
  if (existing) journal.steps.push({ step: `app ${code}`, outcome: 'unchanged' })
  await inTurn([...(existing ? [] : [create]), ...(user ? [() => grantFirst(tools, code, user, journal)] : [])])
  const given = settings.dryRun ? undefined : wanted.development
  const equipment = given && (await equip(tools, app!, given, journal))

  const { replaceable } = wanted
  const words = equipment ? undefined : ['app', 'env', code]
  const environment = renderEnvironment(tools, app!, equipment?.development)
  const { content } = mergeEnvironment(envFile === undefined ? undefined : readIfThere(envFile), environment)
  writeStep(tools, envFile, { content, journal, replaceable, words, isPrivate: true })
  writeStep(tools, permissionFile, { content: renderPermissionFile(app!), journal, replaceable })
  if (envFile !== undefined && !settings.dryRun)
    io.note(`${equipment ? `${envFile} holds the secret of the service` : secretHint}; keep ${envFile} out of version control`)
  const next = permissionFile === undefined ? [] : [commandLine(tools, ['permission', 'register', '-f', permissionFile])]
  for (const line of next) io.note(`next, once the file lists its permissions: ${line}`)
  if (!settings.dryRun && !given && app?.signing === 'shared')
    io.note(
      `its backends share a secret with other apps; to give it its own key: ${commandLine(tools, ['app', 'signing', code])}`,
    )
  const snippet = framework === undefined ? [] : snippetFor(framework)
  return {
    kind: 'report',
    value: {
      app: app!,
      ...journal,
      next,
      snippet: framework === undefined ? null : `${snippet.join('\n')}\n`,
      ...equipment?.access,
    },
    parts: [
      rowsOf(journal.steps, ['step', 'outcome']),
      ...(snippet.length > 0 ? ['', ...snippet] : []),
      ...(equipment ? ['', ...describeAccess(equipment.access)] : []),
    ],
  }
}

/** The first write of all: if the service refuses it, nothing has been done, and other answers can be given. */
async function createApp(tools: Tools, wanted: Onboarding, journal: Journal): Promise<App> {
  const { code, settings, correct } = wanted
  const body = { ...appBody(settings), code, name: settings.name }
  let app: App
  try {
    app = await inFlags(bodyOf(tools.planningApi.POST('/api/v1/admin/apps', { body })))
  } catch (thrown) {
    if (!(thrown instanceof Failure) || !correct) throw thrown
    return createApp(tools, await correct(thrown, wanted), journal)
  }
  note(tools, journal, { step: `app ${code}`, outcome: 'created' }, ['app', 'create', code, ...settingWords(settings)])
  return app
}

function settingWords(settings: Onboarding['settings']): string[] {
  const { name, redirect = [], autoGrant, emailDomain = [], requireVerifiedEmail, permissionScope } = settings
  const redirects = redirect.length > 0 ? ['--redirect', ...redirect] : []
  const domains = emailDomain.length > 0 ? ['--email-domain', ...emailDomain] : []
  const toggles = [...(autoGrant ? ['--auto-grant'] : []), ...(requireVerifiedEmail ? ['--require-verified-email'] : [])]
  const scope = permissionScope === undefined ? [] : ['--permission-scope', permissionScope]
  return ['--name', name, ...redirects, ...domains, ...toggles, ...scope]
}

/** Writes a file of the backend. `words` is the command that prints the same. */
function writeStep(
  tools: Tools,
  file: string | undefined,
  {
    content,
    journal,
    replaceable,
    words,
    isPrivate = false,
  }: { content: string; journal: Journal; replaceable: ReadonlySet<string>; words?: string[] | undefined; isPrivate?: boolean },
): void {
  if (file === undefined || tools.settings.dryRun) return
  const outcome = readIfThere(file) === content ? 'unchanged' : 'written'
  if (outcome === 'written') writeFile(file, content, { isPrivate, replaces: replaceable.has(file) })
  note(tools, journal, { step: file, outcome }, words, ` > ${toCommandLine([file])}`)
}

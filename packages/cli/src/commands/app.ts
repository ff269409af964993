import { randomBytes } from 'node:crypto'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf, inTurn } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, choiceWithStandard, flag, positional, requiredText, text } from '../command-line/options.ts'
import { readLogo, writeLogo } from '../nouns/app-logo.ts'
import { appSubject, parseAppRef } from '../nouns/app-ref.ts'
import { allPermissionsNote, appBody, appSettings, inFlags, isSameApp } from '../nouns/app-settings.ts'
import { type OpenIdClient, productNames, products, secretPlaceholder } from '../nouns/openid-products.ts'
import { noteNewPools } from '../nouns/pool-names.ts'
import { record } from '../output/render.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'
import { deleteCommand, type StatusNoun, statusCommand } from '../tools/subject-commands.ts'

export const createApp = command({
  path: 'app create',
  options: {
    code: positional('CODE', 'Code of the new app, in kebab-case. It cannot be changed later'),
    name: requiredText('NAME', 'Display name'),
    ...appSettings,
    standard: flag('For a product that speaks OpenID Connect: confidential, with a client secret and a signing key of its own'),
    ifExists: choiceWithStandard(['error', 'skip', 'update'], 'What to do if the code is taken', 'error'),
  },
  summary: 'Create an app',
  examples: [
    'app create shop --name Shop --redirect https://shop.example.com/callback --auto-grant',
    'app create wiki --name Wiki --redirect https://wiki.example.com/private/callback --standard',
    'app create mobile --name Mobile --redirect com.example.app:/cb --link shop wiki --service shop orders --dry-run',
  ],
  async run(tools, { code, ifExists, logo: file, standard, ...settings }) {
    const { api } = tools
    const body = appBody(settings, tools.now)
    const asStandard = { client: 'confidential', permission_scope: 'roles' } as const
    const fresh = { ...(standard ? asStandard : {}), ...body, code, name: settings.name }
    const logo = file ? readLogo(file) : undefined
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    try {
      const created = await inFlags(bodyOf(api.POST('/api/v1/admin/apps', { body: fresh })))
      const app = (logo && (await inFlags(writeLogo(api, code, logo)))) || created
      if (standard) return record({ ...app, ...(await completeStandard(tools, code)) }, 'created')
      if (settings.permissionScope === undefined && app.permission_scope === 'services') tools.io.note(allPermissionsNote)
      return record(app, 'created')
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'app_code_taken' || ifExists === 'error') throw error
    }
    const path = { appId: parseAppRef(code) }
    const existing = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    if (ifExists === 'skip') return record(existing, 'unchanged')
    const changed = await inFlags(bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    const updated = (logo && (await inFlags(writeLogo(api, path.appId, logo)))) || changed
    return record(updated, isSameApp(existing, updated) ? 'unchanged' : 'updated')
  },
})

/**
 * Gives a new app a signing key of its own, which no other consumer holds, and a client secret. Nobody has a token of it yet, so
 * the steps of the key change follow one another. In a dry run there is no app to do this to.
 */
async function completeStandard(
  { api, io, settings }: Tools,
  code: string,
): Promise<{ signing?: 'own'; client_secret?: string | null }> {
  if (settings.dryRun) return {}
  const path = { appId: parseAppRef(code) }
  const takeStep = (step: 'prepare' | 'switch' | 'finish') =>
    api.POST('/api/v1/admin/apps/{appId}/signing', {
      params: { path, query: step === 'finish' ? { force: true } : {} },
      body: { step, key: 'own' },
    })
  await takeStep('prepare')
  await takeStep('switch')
  await takeStep('finish')
  const { secret } = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
  io.note('the client secret is not shown again')
  io.note(`authctl app show ${code} --as PRODUCT prints what to configure`)
  return { signing: 'own', client_secret: secret }
}

export const listApps = listCommand({
  path: 'app list',
  summary: 'List apps, newest first',
  examples: ['app list', 'app list --status active --q shop', 'app list --json'],
  filters: {
    status: choice(['active', 'inactive'], 'Only apps with this status'),
    q: text('TEXT', 'Only apps whose code or name contains this'),
  },
  read: (api, filters, page) => api.GET('/api/v1/admin/apps', { params: { query: { ...filters, ...page } } }),
  columns: [
    'code',
    'name',
    'status',
    ['pool', (app) => app.registration_namespace],
    ['auto_grant', (app) => app.auto_grant_on_signup],
    ['sign_up', (app) => app.sign_up, 'wide'],
    ['services', (app) => app.service_codes, 'wide'],
    ['created_at', (app) => app.created_at, 'wide'],
    'id',
  ],
  none: 'no apps',
})

export const showApp = command({
  path: 'app show',
  options: {
    code: appSubject,
    as: choice(productNames, 'Print what to configure at a product that speaks OpenID Connect; generic lists the values'),
    newSecret: flag('With --as: give the app a client secret, and print it in its place'),
  },
  summary: 'Show an app with all its settings, or what to configure at a product',
  description:
    'A configuration has a placeholder for the client secret, which the service does not know any more. What was never run with a ' +
    'product says so in its first line.',
  examples: ['app show shop', 'app show wiki --as apache --new-secret > wiki.conf', 'app show charts --as grafana'],
  async run(tools, { code, as, newSecret }) {
    const { api, io } = tools
    const path = { appId: parseAppRef(code) }
    if (newSecret && as === undefined) throw usageFailure('--new-secret requires --as')
    const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    if (as === undefined) return record(app)
    const client = await clientOf(tools, app)
    if (newSecret) {
      const { secret } = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
      client.client_secret = secret ?? secretPlaceholder
    } else io.note(`${secretPlaceholder}: authctl app client-secret new ${app.code} prints a secret`)
    if (app.client !== 'confidential')
      io.note(`${app.code} is public: authctl app update ${app.code} --client confidential makes it ask for the secret`)
    if (as === 'generic') return record(client)
    return { kind: 'body', body: products[as].write(client, () => randomBytes(24).toString('base64url')) }
  },
})

/** What a product has to be told about an app, with the placeholder for its secret. */
async function clientOf({ api }: Tools, app: components['schemas']['App']): Promise<OpenIdClient> {
  const redirect = app.allowed_redirect_urls.find((url) => /^https?:/.test(url) && !url.endsWith('*'))
  if (redirect === undefined)
    throw new Failure('invalid', `${app.code} has no redirect URL without * that a product could use`, {
      code: 'no_redirect_url',
      hint: `authctl app update ${app.code} --redirect URL`,
    })
  const found: Record<string, unknown> = await bodyOf(api.GET('/.well-known/openid-configuration'))
  const endpoint = (name: string) => String(found[name])
  return {
    issuer: endpoint('issuer'),
    client_id: app.code,
    client_secret: secretPlaceholder,
    // A quote would end a value where the configuration has it in quotes.
    redirect_uri: redirect.replaceAll('"', '%22').replaceAll("'", '%27'),
    scope: 'openid profile email roles groups',
    discovery: `${endpoint('issuer')}/.well-known/openid-configuration`,
    authorization_endpoint: endpoint('authorization_endpoint'),
    token_endpoint: endpoint('token_endpoint'),
    userinfo_endpoint: endpoint('userinfo_endpoint'),
    jwks_uri: endpoint('jwks_uri'),
    end_session_endpoint: endpoint('end_session_endpoint'),
    token_endpoint_auth_method: 'client_secret_basic',
    code_challenge_method: 'S256',
    id_token_signed_response_alg: 'RS256',
  }
}

export const updateApp = command({
  path: 'app update',
  options: {
    code: appSubject,
    name: text('NAME', 'Display name'),
    ...appSettings,
  },
  summary: 'Change settings of an app',
  description: 'Settings that are not given stay unchanged. A list is replaced as a whole; an empty value clears a setting.',
  examples: [
    'app update shop --name "Web shop" --no-auto-grant',
    'app update shop --redirect https://shop.example.com/* --link "" --dry-run',
    'app update shop --accent "#2f6fde" --logo shop.png --support-email help@shop.example.com',
  ],
  async run(tools, { code, logo: file, ...settings }) {
    const { api } = tools
    const path = { appId: parseAppRef(code) }
    const body = appBody(settings, tools.now)
    const logo = file ? readLogo(file) : file === undefined ? undefined : null
    const hasSettings = Object.keys(body).length > 0
    if (!hasSettings && logo === undefined) throw usageFailure('no setting was given', 'authctl app update --help lists them')
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    let after: components['schemas']['App'] = before
    const show = () => bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    // Both or neither: the service judges the settings before it gets the logo.
    if (hasSettings && logo !== undefined)
      await inFlags(tools.rehearsalApi.PATCH('/api/v1/admin/apps/{appId}', { params: { path, query: { dry_run: true } }, body }))
    const setLogo = async () => {
      after = (await inFlags(writeLogo(api, path.appId, logo ?? null))) ?? (await show())
    }
    const setSettings = async () => {
      after = await inFlags(bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    }
    await inTurn([...(logo === undefined ? [] : [setLogo]), ...(hasSettings ? [setSettings] : [])])
    return record(after, isSameApp(before, after) ? 'unchanged' : 'updated')
  },
})

const appStatus: StatusNoun<'active' | 'inactive'> = {
  subject: appSubject,
  async find(api, typed) {
    const path = { appId: parseAppRef(typed) }
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    return {
      before,
      write: (status) => bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body: { status } })),
    }
  },
}

export const activateApp = statusCommand({
  path: 'app activate',
  summary: 'Allow logins to an app again',
  examples: ['app activate shop', 'app activate shop --dry-run', 'app activate shop --json'],
  noun: appStatus,
  status: 'active',
  outcome: 'activated',
})

export const deactivateApp = statusCommand({
  path: 'app deactivate',
  summary: 'Block logins to an app',
  examples: ['app deactivate shop --yes', 'app deactivate shop', 'app deactivate shop --dry-run'],
  noun: appStatus,
  status: 'inactive',
  outcome: 'deactivated',
  action: (code) => `deactivate the app ${code}`,
})

export const deleteApp = deleteCommand({
  path: 'app delete',
  summary: 'Delete an app',
  examples: ['app delete shop --confirm shop', 'app delete shop --confirm shop --force', 'app delete shop --dry-run'],
  noun: 'app',
  subject: appSubject,
  force: 'Delete it even if users have access to it',
  parse: parseAppRef,
  remove: (api, appId, query) => api.DELETE('/api/v1/admin/apps/{appId}', { params: { path: { appId }, query } }),
})

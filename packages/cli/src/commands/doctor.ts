import { bodyOf, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { text } from '../command-line/options.ts'
import { type App, checkApps, checkSecondFactors } from '../doctor/check-apps.ts'
import { checkPasskeys, checkRights, checkSearch, type ServiceSettings } from '../doctor/check-rights.ts'
import {
  checkAudit,
  checkMail,
  checkSecrets,
  checkServers,
  checkService,
  checkServiceAccounts,
  checkWebhooks,
} from '../doctor/checks.ts'
import { type Finding, fault, faultOf } from '../doctor/finding.ts'
import { type Result, rowsOf } from '../output/render.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

export const doctor = command({
  path: 'doctor',
  options: { app: text('CODE', 'Only this app, which may be inactive. Default: all active apps', { completes: 'apps' }) },
  summary: 'Look for problems, and show how to fix them',
  description:
    'Checks the service: it answers, is ready, and agrees with this authctl on version and time; you may administer it; all servers ' +
    'have the same secrets, clock and version; and consumers accept the secret that signs. Checks the data: the ends of the audit ' +
    'are what was sealed, no service account ends soon, all passkeys belong to the host of the service, and searches find a text ' +
    'inside a name. Checks each app: it links only apps that exist, its services have permissions, users cannot give themselves ' +
    'access, its pools share no e-mails, and it is not at the origin of the service. Checks what is sent: no webhook delivery failed ' +
    'for good, and no mail waits or was given up. Changes nothing. Exits with 8 if a check fails, and with 0 if there are only ' +
    'warnings.',
  examples: ['doctor', 'doctor --app shop', 'doctor --json'],
  async run(tools, { app }) {
    const { findings, isThere } = await checkService(tools)
    if (!isThere) return report(findings)
    const rights = await checkRights(tools)
    findings.push(...rights.findings)
    if (!rights.settings) return report(findings)
    try {
      findings.push(...(await checkContents(tools, rights.settings, app)))
    } catch (thrown) {
      findings.push(faultOf('service', thrown))
    }
    return report(findings)
  },
})

async function checkContents({ api, now }: Tools, settings: ServiceSettings, named: string | undefined): Promise<Finding[]> {
  const apps = new Map<string, App>()
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: page } })))
  for await (const page of all) for (const app of page) apps.set(app.code, app)
  const chosen = [...apps.values()].filter(({ id, code, status, built_in }) =>
    named === undefined ? status === 'active' && !built_in : code === named || id === named,
  )
  if (named !== undefined && chosen.length === 0)
    return [fault({ check: 'app', app: named }, `there is no app ${named}`, 'authctl app list')]
  return [
    ...(await checkSecrets(api, named === undefined ? undefined : chosen[0]!.code, now())),
    ...(await checkServiceAccounts(api, now())),
    ...(await checkServers(api)),
    ...(await checkAudit(api)),
    ...checkPasskeys(settings),
    ...checkSecondFactors(settings, apps),
    ...checkSearch(settings),
    ...(await checkApps(chosen, { api, settings, apps })),
    ...(await checkWebhooks(api, chosen, now())),
    ...(await checkMail(api, now())),
  ]
}

function report(findings: Finding[]): Result {
  const counts = { ok: 0, warn: 0, fail: 0 }
  for (const { level } of findings) counts[level] += 1
  const remedies = findings.flatMap(({ check, app, fix }) =>
    fix === null ? [] : [`  ${app === null ? check : `${check} of ${app}`}: ${fix}`],
  )
  const failure = new Failure('failures', `${counts.fail} of ${findings.length} checks failed`, { code: 'checks_failed' })
  return {
    kind: 'report',
    value: { counts, findings },
    parts: [
      rowsOf(findings, ['level', 'check', 'app', ['finding', ({ message }) => message]]),
      ...(remedies.length > 0 ? ['', 'how to fix it:', ...new Set(remedies)] : []),
    ],
    failure: counts.fail > 0 ? failure : undefined,
  }
}

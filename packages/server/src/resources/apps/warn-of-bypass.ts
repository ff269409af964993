import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { type AdmissionSettings, App } from '../../models/app.ts'
import type { bypassWarning } from './schema.ts'

export type BypassWarning = z.output<typeof bypassWarning>

const mostNamed = 20

/**
 * Warns of apps that restrict who may register, but grant access automatically to users whom another app of their pools registers.
 * Warns only if the app with this id is the one or the other.
 */
export async function warnOfBypass(deps: Deps, appId: string): Promise<BypassWarning[]> {
  const apps = await App.listAdmissions(deps.db)
  const open = apps.filter(({ sign_up }) => sign_up === 'open')
  return apps.filter(isGrantedBeyondPolicy).flatMap((app) => {
    const through = open.filter(
      (other) => other.id !== app.id && [app.id, other.id].includes(appId) && sharesPool(app, other) && takesMore(other, app),
    )
    if (through.length === 0) return []
    const codes = through.map(({ code }) => code).slice(0, mostNamed)
    const message =
      `${app.code} admits users whom its own sign_up or allowed_email_domains would refuse: they register through ` +
      `${codes.join(', ')}, which shares a pool with it. auto_grant_follows_policy keeps them out`
    return [{ code: 'policy_bypassed' as const, app: app.code, through: codes, message }]
  })
}

function isGrantedBeyondPolicy(app: AdmissionSettings): boolean {
  const isRestricted = app.sign_up !== 'open' || app.allowed_email_domains.length > 0
  return app.auto_grant_on_signup && !app.auto_grant_follows_policy && isRestricted
}

/** A new user is in every pool of the app. */
function sharesPool(one: AdmissionSettings, other: AdmissionSettings): boolean {
  return poolSet(one).some((pool) => poolSet(other).includes(pool))
}

function takesMore(other: AdmissionSettings, app: AdmissionSettings): boolean {
  if (app.sign_up !== 'open' || other.allowed_email_domains.length === 0) return true
  return other.allowed_email_domains.some((domain) => !app.allowed_email_domains.includes(domain))
}

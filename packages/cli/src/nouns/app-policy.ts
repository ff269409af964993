import type { components } from '@gatehouse/sdk/admin'

type App = components['schemas']['App']

/** Whether anyone gets in who types an address of one of the allowed domains, without proof that it is theirs. */
export function isOpenToAnyAddress(app: App): boolean {
  const takesAnybody = app.auto_grant_on_signup && app.sign_up !== 'closed'
  return takesAnybody && app.allowed_email_domains.length > 0 && !app.require_verified_email
}

export function verifiedEmailsFix({ code }: Pick<App, 'code'>): string {
  return `authctl app update ${code} --require-verified-email`
}

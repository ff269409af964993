/** The sections of the account page. Each but the first has a page of its own below it. */
export const accountSections = [
  'overview',
  'profile',
  'email',
  'password',
  'two-factor',
  'passkeys',
  'sessions',
  'identities',
  'organizations',
  'apps',
  'data',
  'delete',
] as const
export type AccountSection = (typeof accountSections)[number]

const accountRoot = '/account'

/** What the URLs of the account page carry: whose look and pools count, and where the person came from. */
export interface AccountQuery {
  app: string
  returnTo: string
}

export function sectionPath(section: AccountSection): `/account${string}` {
  return section === 'overview' ? accountRoot : `${accountRoot}/${section}`
}

export function accountPath(section: AccountSection, { app, returnTo }: AccountQuery, said?: string): string {
  const query = new URLSearchParams()
  if (app !== '') query.append('app', app)
  if (returnTo !== '') query.append('return_to', returnTo)
  if (said !== undefined) query.append('said', said)
  return query.size === 0 ? sectionPath(section) : `${sectionPath(section)}?${query}`
}

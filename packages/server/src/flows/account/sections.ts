import { apps } from './apps.ts'
import { data } from './data.ts'
import { deletion } from './delete.ts'
import { email } from './email.ts'
import { identities } from './identities.ts'
import { organizations } from './organizations.ts'
import { overview } from './overview.ts'
import { passkeys } from './passkeys.ts'
import { password } from './password.ts'
import { profile } from './profile.ts'
import type { Section } from './section.ts'
import { sessions } from './sessions.ts'
import { twoFactor } from './two-factor.ts'

export { sectionPath } from '../../lib/account-sections.ts'

export const sections: readonly Section[] = [
  ...[overview, profile, email, password, twoFactor, passkeys, sessions, identities, organizations, apps],
  ...[data, deletion],
]

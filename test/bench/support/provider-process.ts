// The provider of the tests as a program: its processor time is its own. Whoever is named at the start exists.
import { openProvider } from '../../support/oidc-server.ts'

const provider = await openProvider([process.env.REDIRECT_URI!])
const anybody = { has: () => true, get: (subject: string) => ({ email: `${subject}@example.com`, email_verified: true }) }
Object.assign(provider.accounts, anybody)
console.log(JSON.stringify({ url: provider.issuer }))

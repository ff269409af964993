// Runs the tests' provider as a program, so that its processor time can be measured separately. Any subject exists.
import { openProvider } from '../../support/oidc-server.ts'

const provider = await openProvider([process.env.REDIRECT_URI!])
const anybody = { has: () => true, get: (subject: string) => ({ email: `${subject}@example.com`, email_verified: true }) }
Object.assign(provider.accounts, anybody)
console.log(JSON.stringify({ url: provider.issuer }))

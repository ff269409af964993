import { expect, test } from 'vitest'
import type { Tools } from './create-tools.ts'
import { signInByBrowser } from './sign-in-by-browser.ts'

const issuer = 'https://login.example'
const io = { complain() {}, note() {} }
const api = { GET: async () => ({ data: { issuer, authorization_endpoint: `${issuer}/oauth/authorize` } }) }
const tools = { io, anonymousApi: () => api } as unknown as Tools

test('sign-in by browser gives up when its patience ends, and closes its port', async () => {
  let page = ''
  const open = (url: string) => {
    page = url
  }
  const waiting = signInByBrowser(tools, { baseUrl: issuer, open, email: undefined, patienceMs: 50 })
  await expect(waiting).rejects.toMatchObject({ ending: 'notSignedIn', code: 'sign_in_timeout', hint: 'authctl login' })
  await expect(fetch(new URL(page).searchParams.get('redirect_uri')!)).rejects.toThrow()
})

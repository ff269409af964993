import { type BadToken, createBadTokens, createMachineToken } from '@gatehouse/sdk/testing'
import { Failure, messageOf, systemCodeOf } from '../command-line/exit-codes.ts'
import { exchangeHttp } from '../network/exchange-http.ts'
import type { Tools } from '../tools/create-tools.ts'
import type { ProbeUser } from './probe-user.ts'

/** The outcome of an attack. `unanswered`: the backend failed or limited the rate, which proves nothing. */
type Verdict = 'refused' | 'accepted' | 'unanswered' | 'untested'

export interface AttackResult {
  attack: string
  verdict: Verdict
  status: number | null
  /** What an attacker could do if it is accepted. */
  harm: string
}

type Attack = Pick<BadToken, 'harm'> & { attack: string; token: string | undefined }

const nobodyAsks = { attack: 'no token', harm: 'Anyone gets in without a token.' }
const machineAsks = {
  attack: 'a machine token',
  harm: 'A backend that may call this app acts as a user. If this path is for backends too, that is intended.',
}
const revokedAsks = {
  attack: 'a token that was revoked',
  harm: 'A user who is suspended, signed out or loses access still gets in until the token expires.',
}
const lookEveryMs = 250

/** A backend under attack. */
export interface Target {
  url: URL
  /** The secret that signs tokens of the app. Without it, attacks that need it are not tested. */
  secret: string | undefined
  /** How long a revoked token may still be accepted. */
  revokedWithinMs: number
}

/**
 * Sends the backend the tokens that it has to refuse, one after another, and last the good token of the user after it was
 * revoked. Throws `good_token_refused` if the backend refuses that token earlier, since its other refusals then prove nothing.
 */
export async function attackBackend(tools: Tools, target: Target, user: ProbeUser): Promise<AttackResult[]> {
  const send = (token: string | undefined) => statusOf(tools, target.url, token)
  await assertAccepted(send, user.token)
  const results: AttackResult[] = []
  const attacks = attacksWith(user.token, target.secret)
  for (const [index, { attack, token, harm }] of attacks.entries()) {
    tools.io.showProgress(`${index + 1} of ${attacks.length + 1}: ${attack}`)
    const status = await send(token)
    results.push({ attack, verdict: verdictOf(status), status, harm })
  }
  await assertAccepted(send, user.token)
  results.push(...untestedWithout(user.token, target.secret))
  await user.revoke()
  tools.io.showProgress(`${attacks.length + 1} of ${attacks.length + 1}: ${revokedAsks.attack}`)
  const last = await lastStatus(tools, target, () => send(user.token))
  tools.io.showProgress(undefined)
  return [...results, { ...revokedAsks, verdict: verdictOf(last), status: last }]
}

function attacksWith(good: string, secret: string | undefined): Attack[] {
  const bad = createBadTokens(good, secret).map(({ name, token, harm }) => ({ attack: name, token, harm }))
  const machine = secret === undefined ? [] : [{ ...machineAsks, token: createMachineToken(good, secret) }]
  return [{ ...nobodyAsks, token: undefined }, ...bad, ...machine]
}

function untestedWithout(good: string, secret: string | undefined): AttackResult[] {
  if (secret !== undefined) return []
  const insider = createBadTokens(good, 'any').filter(({ needsSecret }) => needsSecret)
  const untested = { verdict: 'untested', status: null } as const
  return [...insider.map(({ name, harm }) => ({ attack: name, harm, ...untested })), { ...machineAsks, ...untested }]
}

/** Sends the token until the backend refuses it or the time is over. Returns the last status. */
async function lastStatus({ now, sleep }: Tools, { revokedWithinMs }: Target, send: () => Promise<number>): Promise<number> {
  const end = now() + revokedWithinMs
  for (;;) {
    const status = await send()
    if (verdictOf(status) === 'refused' || now() >= end) return status
    await sleep(lookEveryMs)
  }
}

async function assertAccepted(send: (token: string) => Promise<number>, good: string): Promise<void> {
  const status = await send(good)
  if (verdictOf(status) === 'accepted') return
  const hints: Record<number, string> = {
    401: 'is this the right app, and does the backend have the secret that signs now?',
    403: 'use a path that every user of the app may GET',
    404: 'use a path that exists',
  }
  throw new Failure('invalid', `the backend answers a good token with ${status}, so its other refusals prove nothing`, {
    code: 'good_token_refused',
    hint: hints[status] ?? 'use a path that answers every user of the app with 2xx, and allows as many requests as this sends',
  })
}

function verdictOf(status: number): Verdict {
  if (status >= 200 && status < 300) return 'accepted'
  return status >= 500 || status === 429 || status === 408 ? 'unanswered' : 'refused'
}

async function statusOf({ settings }: Tools, url: URL, token: string | undefined): Promise<number> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const request = { method: 'GET', url: url.href, headers }
  for (let isAgain = false; ; isAgain = true) {
    try {
      return (await exchangeHttp({ ...request, signal: AbortSignal.timeout(settings.timeoutMs) })).status
    } catch (error) {
      // A backend may close a kept-alive connection just as the next request goes out on it.
      if (!isAgain && systemCodeOf(error) === 'ECONNRESET') continue
      throw new Failure('unreachable', `cannot reach ${url.origin}: ${messageOf(error)}`, { code: 'backend_unreachable' })
    }
  }
}

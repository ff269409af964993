import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { callerOfBrowser, newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import { activateTwoFactor, digestOfSeed, setUpTwoFactor } from '../two-factor/two-factor.ts'
import { foreseeStep } from './authorize.ts'
import type { Journey } from './steps.ts'

const unproven = { password: undefined, two_factor_code: undefined }

/** The person whom the page asks to set up a second factor. Undefined if it does not, or asks somebody else by now. */
async function findAsked(
  deps: Deps,
  { request, secret }: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<PersonCaller | undefined> {
  const { person, step } = await foreseeStep(deps, request, secret, actor)
  const isAsked = 'ask' in step && step.ask === 'enrol'
  return person && person.user.id === userId && isAsked ? callerOf(deps, person.live) : undefined
}

/**
 * Somebody who has nothing but a first factor has just shown it, which counts from when they came from there: not every provider tells
 * when they signed in at it.
 */
function callerOf(deps: Deps, live: LiveBrowserSession): PersonCaller {
  return callerOfBrowser(deps, { ...live, first_proven_at: live.signed_in_at ?? live.first_proven_at })
}

/** Gives the person a seed, which the page then shows. Throws what `setUpTwoFactor` throws. */
export async function beginEnrolment(
  deps: Deps<Pool>,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<{ seed: string } | undefined> {
  const caller = await findAsked(deps, journey, userId, actor)
  if (!caller) return undefined
  const { secret } = await setUpTwoFactor(deps, unproven, caller, { ...actor, caller })
  return { seed: digestOfSeed(secret) }
}

/**
 * Turns the second factor on. The person has shown it by that, and goes on to the app once they have seen their recovery codes. Throws
 * what `activateTwoFactor` throws.
 */
export async function enrol(
  deps: Deps<Pool>,
  journey: Journey,
  { userId, code: typed }: { userId: string | undefined; code: string },
  actor: Actor,
): Promise<{ codes: { userId: string; codes: string[] }; deviceToken: string } | undefined> {
  const code = typed.trim()
  if (code === '') throw fieldError('code', 'required', 'is required')
  const caller = await findAsked(deps, journey, userId, actor)
  if (!caller) return undefined
  const by = { ...actor, caller }
  const { app } = journey.request
  const { recovery_codes: codes } = await activateTwoFactor(deps, { ...unproven, code, demandedBy: app.id }, caller, by)
  return { codes: { userId: caller.userId, codes }, deviceToken: await newDeviceTokenFor(deps, caller.userId) }
}

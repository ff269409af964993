import type { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { RequestOrigin } from '../lib/caller.ts'
import type { PageView } from '../lib/page-view.ts'

/** A view, or another address that the browser is to go to. */
export type PageReply = PageView | { redirectTo: string }

/**
 * A page of the service, at the root. A link of a mail leads to it, and its form posts to the same path. GET changes nothing,
 * since programs that scan mail follow links. There is neither session nor cookie, so the token in the form is its only
 * authority, and a forged post from another site gains nothing.
 */
export interface WebPage<F extends z.ZodType = z.ZodType> {
  path: string
  /** What a reader can do about a link that does not work. */
  advice: string
  /** `token` is that of the query, `''` without one. Throws `invalid_token`, `invalid_invitation`. */
  show(deps: Deps<Pool>, request: { token: string; origin: RequestOrigin }): Promise<PageReply>
  /** Its fields. What does not fit it was not sent by the form. */
  form: F
  submit(deps: Deps<Pool>, request: { form: z.output<F>; origin: RequestOrigin }): Promise<PageReply>
}

/** Declares a page; the fields that `submit` gets are typed by its form. */
export function webPage<F extends z.ZodType>(declaration: WebPage<F>): WebPage {
  return declaration
}

import type { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { RequestOrigin } from '../lib/caller.ts'
import type { PageView } from '../lib/page-view.ts'

/** A view, or a URL to redirect the browser to. */
export type PageReply = PageView | { redirectTo: string }

/**
 * A page of the service, at the root. Mail links lead to it, and its form posts to the same path. GET changes nothing, because
 * programs that scan mail follow links. There is no session and no cookie: the token in the form is the only authority, so a
 * forged post from another site gains nothing.
 */
export interface WebPage<F extends z.ZodType = z.ZodType> {
  path: string
  /** What a reader can do about a link that does not work. */
  advice: string
  /** `token` comes from the query; `''` if absent. Throws `invalid_token`, `invalid_invitation`. */
  show(deps: Deps<Pool>, request: { token: string; origin: RequestOrigin }): Promise<PageReply>
  /** The fields of the form. Input that does not match was not sent by the form. */
  form: F
  submit(deps: Deps<Pool>, request: { form: z.output<F>; origin: RequestOrigin }): Promise<PageReply>
}

/** Declares a page. Its form types the fields that `submit` gets. */
export function webPage<F extends z.ZodType>(declaration: WebPage<F>): WebPage {
  return declaration
}

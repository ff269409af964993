import type { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { RequestOrigin } from '../lib/caller.ts'
import type { PageView } from '../lib/page-view.ts'

/** A view, or another address that the browser is to go to. */
export type PageReply = PageView | { redirectTo: string }

/**
 * A page of the service's own, at the root: a link of a mail leads to it, and its form posts to the same path. GET shows and changes
 * nothing, since programs that look through mail follow links. There is no session and no cookie: the token is all the authority that
 * a form has, so a form that somebody else posts from a browser does nothing that its sender could not do without that browser.
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

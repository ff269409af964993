import type { Html } from './html.ts'

/** A page to show to a person. */
export interface PageView {
  status: number
  /** The error code of a form that is shown again, for the log. */
  errorCode?: string | undefined
  /** The only heading, and the title in the browser. */
  title: string
  /** The app or organization that the page is about. */
  place?: string | undefined
  /** Everything below the heading. */
  body: Html
  /** The URL that the answer to its form may redirect to, if it is outside this service. */
  leadsTo?: string | null | undefined
  /** Seconds; sent as `Retry-After`. */
  retryAfter?: number | undefined
}

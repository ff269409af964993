import type { Html } from './html.ts'

/** A page for a person, as it is to be shown. */
export interface PageView {
  status: number
  /** Of a form that is shown once more, for the log. */
  errorCode?: string | undefined
  /** Its one heading, and what the browser calls it. */
  title: string
  /** The app or organization that it is about. */
  place?: string | undefined
  /** All below the heading. */
  body: Html
  /** Where the answer to its form may lead besides this service. */
  leadsTo?: string | null | undefined
  /** Seconds; sent as `Retry-After`. */
  retryAfter?: number | undefined
}

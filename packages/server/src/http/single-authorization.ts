import type { Middleware } from 'koa'
import { fieldError } from '../errors.ts'

const isAuthorization = /^authorization$/i

/** Refuses a second Authorization header: a proxy may have checked one while the service uses the other. */
export const singleAuthorization: Middleware = (ctx, next) => {
  // `rawHeaders` alternates names and values. `headers` keeps one of two, and `headersDistinct` would copy every header.
  const sent = ctx.req.rawHeaders.filter((text, index) => index % 2 === 0 && isAuthorization.test(text))
  if (sent.length > 1) throw fieldError('authorization', 'invalid_value', 'must be sent once')
  return next()
}

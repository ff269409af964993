import type { Middleware } from 'koa'
import { fieldError } from '../errors.ts'

const isAuthorization = /^authorization$/i

/** Refuses two credentials: a proxy may have checked one while the service uses the other. */
export const singleAuthorization: Middleware = (ctx, next) => {
  // Names and values in turns. Of two, Node keeps the first; to ask it for both would copy every header of every request.
  const sent = ctx.req.rawHeaders.filter((text, index) => index % 2 === 0 && isAuthorization.test(text))
  if (sent.length > 1) throw fieldError('authorization', 'invalid_value', 'must be sent once')
  return next()
}

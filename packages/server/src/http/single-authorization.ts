import type { Middleware } from 'koa'
import { fieldError } from '../errors.ts'

/** Refuses two credentials: a proxy may have checked one while the service uses the other. */
export const singleAuthorization: Middleware = (ctx, next) => {
  const { headers, headersDistinct } = ctx.req
  if (headers.authorization !== undefined && headersDistinct.authorization!.length > 1)
    throw fieldError('authorization', 'invalid_value', 'must be sent once')
  return next()
}

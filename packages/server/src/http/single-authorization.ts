import type { Middleware } from 'koa'
import { fieldError } from '../errors.ts'

/** Of two credentials a proxy may have judged one and the service would take the other, so a request brings one or none. */
export const singleAuthorization: Middleware = (ctx, next) => {
  const { headers, headersDistinct } = ctx.req
  if (headers.authorization !== undefined && headersDistinct.authorization!.length > 1)
    throw fieldError('authorization', 'invalid_value', 'must be sent once')
  return next()
}

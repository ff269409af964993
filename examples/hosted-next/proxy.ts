import { type NextRequest, NextResponse } from 'next/server'
import { session } from './session'

/** Answers /login, /callback and /logout, and renews the session before a page reads it. */
export default (request: NextRequest) => session.handle(request, (request) => NextResponse.next({ request }))
export const config = { matcher: '/((?!_next/).*)' }

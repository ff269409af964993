import { type NextRequest, NextResponse } from 'next/server'
import { session } from './session'

const next = (request: NextRequest) => NextResponse.next({ request })
const guarded = session.requireSession()(next)
const isGuarded = ({ nextUrl }: NextRequest) => nextUrl.pathname.startsWith('/notes')

/** Answers /login, /callback and /logout, guards the pages of a user, and renews the session before a page reads it. */
export default (request: NextRequest) => session.handle(request, isGuarded(request) ? guarded : next)
export const config = { matcher: '/((?!_next/).*)' }

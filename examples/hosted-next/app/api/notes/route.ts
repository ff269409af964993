import { getAuth } from '@gatehouse/sdk/web'
import { session } from '../../../session'

export const GET = session.requireSession()(async (request) => Response.json({ notesOf: getAuth(request).claims.email }))
export const DELETE = session.requireSession({ permissions: ['notes:delete'] })(async () => new Response(null, { status: 204 }))

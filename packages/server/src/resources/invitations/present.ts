import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { Invitation } from '../../models/invitation.ts'
import type { invitationRecord } from './schema.ts'

type InvitationFields = Pick<
  Invitation,
  | 'id'
  | 'organization_id'
  | 'email'
  | 'role_codes'
  | 'grants_app'
  | 'invited_by'
  | 'created_at'
  | 'expires_at'
  | 'accepted_at'
  | 'accepted_by'
> & { app?: { code: string } | null | undefined }

/** An invitation as it stands at `now`, in milliseconds. It lacks the token, which is shown only once. */
export function presentInvitation(invitation: InvitationFields, now: number): z.output<typeof invitationRecord> {
  const isPending = invitation.expires_at > now
  return {
    id: invitation.id,
    organization_id: invitation.organization_id,
    email: invitation.email,
    role_codes: invitation.role_codes,
    app_code: invitation.app?.code ?? null,
    grants_app: invitation.grants_app && invitation.app != null,
    status: invitation.accepted_at !== null ? 'accepted' : isPending ? 'pending' : 'expired',
    invited_by: invitation.invited_by,
    created_at: iso(invitation.created_at),
    expires_at: iso(invitation.expires_at),
    accepted_at: isoOrNull(invitation.accepted_at),
    accepted_by: invitation.accepted_by,
  }
}

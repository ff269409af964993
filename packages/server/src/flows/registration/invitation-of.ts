/** The invitation of a registration, under either of its names. */
export function invitationOf(input: { invite_token?: string | undefined; invite_code?: string | undefined }): string | undefined {
  return input.invite_token ?? input.invite_code
}

/** The languages of pages and mails. */
export const languages = ['en', 'de', 'fr', 'es', 'it', 'pt'] as const

/** The mails that a service sends, for completion. */
export const mails = [
  'verify_email',
  'change_email',
  'allow_email_change',
  'undo_email_change',
  'delete_account',
  'reset_password',
  'magic_link',
  'new_sign_in',
  'invitation',
  'access_requested',
  'access_approved',
  'access_denied',
  'password_changed',
  'password_reset',
  'two_factor_activated',
  'two_factor_disabled',
  'two_factor_removed',
  'two_factor_locked',
  'recovery_codes_renewed',
  'credentials_removed',
  'email_change_requested',
  'identity_linked',
  'identity_unlinked',
  'identity_removed',
  'passkey_added',
  'passkey_removed',
  'account_deleted',
  'test',
] as const

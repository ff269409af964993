import type { ErrorCode } from './errors.ts'

/** For a person who meets an error: why it came, and what to do. The cure names the one who can act, and the command. */
interface Advice {
  cause: string
  cure: string
}

/** Shown in docs/reference/errors.md. A new code does not compile without its advice. */
export const errorAdvice: Readonly<Record<ErrorCode, Advice>> = {
  validation_failed: {
    cause: 'A field of the body, the query or the path is missing, unknown or out of range.',
    cure: 'Correct each field that `errors` names by its `path`, and send the request again.',
  },
  malformed_request: {
    cause: 'The bytes on the connection are not an HTTP request.',
    cure: 'Check that the client speaks HTTP to this port; TLS ends at the proxy in front.',
  },
  invalid_json: {
    cause: 'The body is empty, broken, not UTF-8, or not a JSON object; or a form has more than 50 fields or a NUL in one.',
    cure: 'Send one JSON object in UTF-8; `detail` says what is wrong with the present one.',
  },
  app_code_required: {
    cause: 'The call does not say which app it is for, or the session was opened without an app.',
    cure: 'Send `app_code`, or sign in through an app first; `authctl app list` shows the codes.',
  },
  code_immutable: {
    cause: 'The body of an update has another `code` than the record.',
    cure: 'Leave `code` out, or send it unchanged; create a new record if you need another code.',
  },
  invalid_invitation: {
    cause: 'The invitation is unknown, expired, used, revoked, or for another address.',
    cure: 'Sign in with the address that was invited, or ask for a new one: `authctl org invite` makes it.',
  },
  invalid_token: {
    cause: 'The link or the form is unknown, expired, used, or replaced by a newer one.',
    cure: 'Ask for a new mail, or open the page again, and use only the newest link.',
  },
  invalid_sso_state: {
    cause: 'The provider sent the browser back with a state that is unknown, older than ten minutes, or used.',
    cure: 'Start the third-party login again from the app, in the same browser.',
  },
  invalid_sso_code: {
    cause: 'The code is unknown, expired or used, or the verifier or the session does not belong to it.',
    cure: 'Exchange each code once, with the `code_verifier` whose challenge you sent; otherwise start again.',
  },
  invalid_grant: {
    cause: 'The authorization code or device code is unknown, expired or used, or the verifier or the redirect URL does not fit.',
    cure: 'Start the sign-in again; send the same `redirect_uri` and the `code_verifier` that belongs to the challenge.',
  },
  authorization_pending: {
    cause: 'The person has not answered on the page for devices yet.',
    cure: 'Ask again after `interval` seconds.',
  },
  slow_down: {
    cause: 'The device asked again before `interval` seconds had passed.',
    cure: 'Wait at least `interval` seconds between two requests, and go on.',
  },
  device_code_expired: {
    cause: 'The person did not answer while the code was valid.',
    cure: 'Get a new device code and show it to the person.',
  },
  device_grant_denied: {
    cause: 'The person refused on the page for devices.',
    cure: 'Stop asking; begin again only if the person wants to.',
  },
  device_grant_disabled: {
    cause: 'The app does not let devices without a browser sign people in.',
    cure: 'An admin allows it: `authctl app update CODE --device-grant`.',
  },
  unsupported_grant_type: {
    cause: 'The `grant_type` is not one that the token endpoint knows.',
    cure: 'Use one of `grant_types_supported` in `/.well-known/openid-configuration`.',
  },
  token_missing: {
    cause: 'The request has no `Authorization: Bearer` header.',
    cure: 'Send the access token of the user, or of the service account if the route is for services.',
  },
  token_invalid: {
    cause:
      'The token is forged, damaged, signed with another secret, for another app, or of a kind that this route does not take.',
    cure: 'Compare the secret, `SERVICE_APP_CODE` and the issuer: `authctl token inspect` names the check that fails.',
  },
  token_expired: {
    cause: 'The token is past its end.',
    cure: 'Refresh it; for a service account, an admin runs `authctl service-account update ACCOUNT --expires 90d`.',
  },
  token_revoked: {
    cause: 'The session has ended, or the account, its grant, its app or the signing secret changed since the token was issued.',
    cure: 'Sign in again; `authctl token trace` tells an admin why the token is dead.',
  },
  insufficient_user_authentication: {
    cause: 'The route asks by `maxAgeSec` or `amr` for a newer or stronger proof than the token carries.',
    cure: 'Send the person to the sign-in page with the `max_age` or `acr_values` of the challenge, then repeat the call.',
  },
  consumer_app_not_found: {
    cause: 'The backend signs its assertions for an app code that does not exist.',
    cure: 'Set `SERVICE_APP_CODE` at the backend to the code of its app: `authctl app env CODE` prints it.',
  },
  invalid_credentials: {
    cause: 'The password is wrong, nobody in the pools of the app has this address, or the user has no password.',
    cure: 'Try again or reset the password; an admin runs `authctl grant explain --app CODE --user USER` to see which it is.',
  },
  two_factor_required: {
    cause: 'The password is right, and the user has a second factor.',
    cure: 'Ask for the code and send the request again with `two_factor_code`.',
  },
  second_factor_not_shown: {
    cause: 'The app demands a second factor, and this session or this way to sign in has shown none.',
    cure: 'Send the person to the sign-in page, which can ask for the code, the passkey or the provider.',
  },
  invalid_two_factor_code: {
    cause: 'The code is wrong, too old or already used; so is a recovery code that was spent.',
    cure: 'Wait for the next code, and check the clock of the phone; a recovery code works once.',
  },
  invalid_passkey: {
    cause: 'The passkey is unknown here, was removed, or belongs to another address of this service.',
    cure: 'Sign in another way, then add a passkey on the account page.',
  },
  invalid_mail_code: {
    cause: 'The code is wrong, expired, used, or of an older mail.',
    cure: 'Type the code of the newest mail, or ask for another.',
  },
  invalid_client: {
    cause: 'A confidential app sent no client secret, or a wrong or revoked one.',
    cure: 'Send the secret as the app is set up to; an admin makes a new one: `authctl app client-secret new CODE`.',
  },
  invalid_refresh_token: {
    cause: 'The refresh token is unknown, expired or of another app, or its session has ended.',
    cure: 'Sign in again; a confidential app refreshes at `/oauth/token`, with its client secret.',
  },
  refresh_token_reused: {
    cause: 'A refresh token came back after its successor was used or the leeway had passed, as after a theft.',
    cure: 'Sign in again; store the newest refresh token before you use it, and never refresh one twice at once.',
  },
  foreign_form: {
    cause: 'A page of another origin sent the form.',
    cure: 'Open the page at the address of the service, and send its own form.',
  },
  permission_denied: {
    cause: 'The backend asks for a permission, a role or an organization that the token does not carry.',
    cure: 'An admin gives it: `authctl role permit ROLE --permission CODE`; it is in the token after the next refresh.',
  },
  system_admin_required: {
    cause: 'Neither the roles of the user nor the scopes of the service account allow this call. `detail` says what does.',
    cure: 'Sign in as an admin, or have one run `authctl user role USER --role system_admin`.',
  },
  admin_app_not_allowed: {
    cause: 'The token is of an app that is inactive or not listed in `AUTH_ADMIN_APP_CODES`.',
    cure: 'Sign in with `authctl login`; for another admin frontend, the operator adds its code to `AUTH_ADMIN_APP_CODES`.',
  },
  service_caller_required: {
    cause: 'The route is for services, and the token is of a user who is not a system_admin.',
    cure: 'Call it with the token of a service account: `authctl service-account create` makes one.',
  },
  insufficient_scope: {
    cause: '`/oauth/userinfo` was called with a token whose sign-in did not ask for the scope `openid`.',
    cure: 'Ask for `openid` at `/oauth/authorize`, and sign in again.',
  },
  scope_required: {
    cause: 'The service account lacks the scope that `detail` names, or lacks it for this app.',
    cure: 'An admin sets all scopes and apps: `authctl service-account update ACCOUNT --scope SCOPE --app CODE`.',
  },
  own_key_required: {
    cause: 'The feed of user changes is only for apps that do not share their secret with others.',
    cure: 'An admin gives the app its own key, beginning with `authctl app signing CODE --step prepare`.',
  },
  service_mismatch: {
    cause: 'A service account declares permissions only for the service it was created for.',
    cure: 'Use the account of that service, or send the name of its own service.',
  },
  service_reserved: {
    cause: 'The permissions of this name belong to Gatehouse itself.',
    cure: 'Declare yours under the name of your own service.',
  },
  fresh_login_required: {
    cause: 'The change needs a proof of identity that is less than ten minutes old, or the password itself.',
    cure: 'Send `password`, and `two_factor_code` if a second factor is active, or sign in again first.',
  },
  app_inactive: {
    cause: 'An admin has deactivated the app.',
    cure: 'An admin turns it on: `authctl app activate CODE`.',
  },
  machine_tokens_disabled: {
    cause: 'No app has this code, or the app does not accept tokens of service accounts.',
    cure: 'Check the code; an admin allows them with `authctl app update CODE --machine-tokens`.',
  },
  two_factor_enrollment_required: {
    cause: 'The app demands a second factor, and the user has none.',
    cure: 'Lead the person to `enrollment_url`, then repeat the login.',
  },
  app_access_denied: {
    cause: 'The user has no grant for the app, it was revoked or has ended, or the user is in none of its pools.',
    cure: 'An admin runs `authctl grant add --app CODE --user USER`; `authctl grant explain` shows which it is.',
  },
  email_unverified: {
    cause: 'The app, or this call, asks for a verified address, and the user has not proven theirs.',
    cure: 'Ask for a verification mail and open its link with the password, or sign in with a magic link.',
  },
  account_suspended: {
    cause: 'An admin has suspended the account.',
    cure: 'An admin lifts it: `authctl user activate USER`.',
  },
  organization_admin_required: {
    cause: 'The caller is not an org_admin of this organization, or it does not exist.',
    cure: 'Ask one of its org_admins, or an admin: `authctl org member --org ORG --user USER --role org_admin`.',
  },
  organization_membership_required: {
    cause: 'The login names an organization that the user does not belong to, or that does not exist.',
    cure: 'Leave `organization_id` out, or have the user added: `authctl org member --org ORG --user USER --role org_member`.',
  },
  sign_up_closed: {
    cause: 'The setting `sign_up` of the app is `closed`, or is `invitation` and there is none.',
    cure: 'Invite the person with `authctl org invite`, or open the app: `authctl app update CODE --sign-up open`.',
  },
  organization_sign_up_closed: {
    cause: 'The registration names a new organization, and the app does not let users create one.',
    cure: 'Leave the organization out, or an admin runs `authctl app update CODE --organization-sign-up`.',
  },
  email_domain_not_allowed: {
    cause: 'The domain of the address is not among the `allowed_email_domains` of the app.',
    cure: 'Register with another address, or an admin sets the list: `authctl app update CODE --email-domain DOMAIN`.',
  },
  auth_method_not_allowed: {
    cause: 'The method is not among the `allowed_auth_methods` of the app, or the provider does not serve it.',
    cure: 'Use another method, or an admin sets them: `authctl app update CODE --auth-method METHOD`.',
  },
  sso_provider_disabled: {
    cause: 'An admin has disabled the provider.',
    cure: 'Sign in another way, or an admin runs `authctl sso-provider update CODE --enabled`.',
  },
  sso_email_missing: {
    cause: 'The provider named no address, and a new user needs one.',
    cure: 'Have the provider release it: `authctl sso-provider update CODE --scope openid email`.',
  },
  not_found: {
    cause: 'Nothing is at this path, or nothing has this id, or it is not yours to see.',
    cure: 'Check the path and the id; `detail` says what is missing, and often the nearest name.',
  },
  app_not_found: {
    cause: 'No app has this code, or the app was deleted.',
    cure: 'Check the spelling against `authctl app list`, or create it: `authctl app create CODE --name NAME`.',
  },
  method_not_allowed: {
    cause: 'The path exists, but not with this HTTP method.',
    cure: 'Use a method from the `Allow` header.',
  },
  user_exists: {
    cause: 'A user in the pools of the app already has this address.',
    cure: 'Have the person sign in or reset the password; a backend can register with `mode: register_or_return`.',
  },
  link_required: {
    cause: 'A user has this address, and the provider is not trusted to say whose it is, or the user holds a further role.',
    cure: 'The person signs in another way and links the provider on the account page.',
  },
  identity_in_use: {
    cause: 'This account at the provider is linked to another user in the same pool.',
    cure: 'Sign in as that user, or unlink it there: `authctl user identity unlink`.',
  },
  email_exists_in_pool: {
    cause: 'Another user with the same address is in a pool that this user would be in.',
    cure: 'Choose another address or pool; `authctl pool collisions POOL POOL` lists the pairs.',
  },
  access_granted: {
    cause: 'The person asks for access to an app that already lets them in.',
    cure: 'Sign in; there is nothing to approve.',
  },
  access_request_decided: {
    cause: 'Another admin has approved or denied the request, or the user was granted access meanwhile.',
    cure: 'Look at the result: `authctl grant list --app CODE --user USER`.',
  },
  app_code_taken: {
    cause: 'An app with this code exists.',
    cure: 'Choose another code, or change that app: `authctl app update CODE`.',
  },
  client_secret_limit: {
    cause: 'An app has at most two client secrets, so that one can replace the other.',
    cure: 'Revoke one that is not in use: `authctl app client-secret revoke CODE --secret ID`.',
  },
  app_in_use: {
    cause: 'The app cannot be deleted while users have access to it.',
    cure: 'Revoke the grants first, or delete it with them: `authctl app delete CODE --confirm CODE --force`.',
  },
  role_code_taken: {
    cause: 'A role with this code exists.',
    cure: 'Choose another code, or use that role: `authctl role show ROLE`.',
  },
  service_account_name_taken: {
    cause: 'A service account with this name exists.',
    cure: 'Choose another name; `authctl service-account list` shows them.',
  },
  role_in_use: {
    cause: 'Users hold the role, or an app refers to it, as `detail` says.',
    cure: 'Take it from them first: `authctl user role USER --role ROLE --remove`, or in the organization or the app that has it.',
  },
  organization_slug_taken: {
    cause: 'An organization with this slug exists.',
    cure: 'Choose another slug; `authctl org list` shows them.',
  },
  organization_in_use: {
    cause: 'The organization has members, or an app refers to it.',
    cure: 'Remove the members with `authctl org member --org ORG --user USER --remove`, and the setting with `authctl app update CODE --org ""`.',
  },
  sso_provider_code_taken: {
    cause: 'A provider with this code exists.',
    cure: 'Choose another code, or change that provider: `authctl sso-provider update CODE`.',
  },
  sso_provider_in_use: {
    cause: 'Users are linked to the provider, so its issuer stays, and deleting it would lock some of them out.',
    cure: 'Disable it instead, or unlink them all: `authctl sso-provider delete CODE --force`.',
  },
  account_unverified: {
    cause: 'Nobody has proven that the account and its mailbox are theirs, so a stranger may have registered it.',
    cure: 'The person signs in with a magic link or resets the password by mail; then repeat the change.',
  },
  last_sign_in_method: {
    cause: 'Without this passkey or provider, the user could not sign in at all.',
    cure: 'Set a password, link a provider or add a passkey first.',
  },
  passkey_exists: {
    cause: 'The authenticator offered a passkey that is registered already.',
    cure: 'Sign in with it; nothing needs to be added.',
  },
  passkey_limit: {
    cause: 'The account has as many passkeys as one account can have.',
    cure: 'Remove one that is not in use, on the account page.',
  },
  last_system_admin: {
    cause: 'After the change, no system_admin could sign in to an admin app.',
    cure: 'Make another admin first: `authctl user role USER --role system_admin`.',
  },
  last_organization_admin: {
    cause: 'After the change, no active org_admin would be left.',
    cure: 'Give another member the role org_admin first.',
  },
  already_member: {
    cause: 'The user belongs to the organization, so the invitation was not used.',
    cure: 'Nothing to do; `authctl org member --org ORG --user USER --role ROLE` changes the roles.',
  },
  two_factor_active: {
    cause: 'The user has an active second factor, and set-up does not replace one.',
    cure: 'Turn it off first: on the account page, or by `authctl two-factor disable` for yourself.',
  },
  two_factor_not_set_up: {
    cause: 'The user has not begun to set up a second factor, or has none active.',
    cure: 'Set one up first, on the account page or by `authctl two-factor setup`.',
  },
  permission_owned_by_other_service: {
    cause: 'A permission code belongs to the service that declared it first.',
    cure: 'Rename yours; `authctl permission list` shows which service owns which code.',
  },
  prune_limit: {
    cause: 'The file leaves out more declared permissions than `max_prune` allows, perhaps because it is incomplete.',
    cure: 'Compare it with `authctl permission diff --service SERVICE -f FILE`; if it is right, raise `--max-prune`.',
  },
  webhook_not_enabled: {
    cause: 'The webhook was removed, renamed or disabled.',
    cure: 'Enable it, then repeat: `authctl webhook list --app CODE` shows the state.',
  },
  delivery_pending: {
    cause: 'The attempts for this delivery are not over.',
    cure: 'Wait: all three attempts end within seconds, and `authctl webhook deliveries --app CODE` shows the result.',
  },
  delivery_erased: {
    cause: 'The user of the event was erased, and the content of the delivery with them.',
    cure: 'Nothing can be sent again; the receiver deletes what it has of that user.',
  },
  mail_pending: {
    cause: 'The mail waits for an attempt, or somebody else has just sent it again.',
    cure: 'Wait: `authctl mail list --status pending` says when the next attempt is due.',
  },
  mail_not_kept: {
    cause: 'Only a mail that was given up is kept; this one was sent, was not due, or its user is gone.',
    cure: 'Have the user ask for another one; `detail` says which way there is.',
  },
  mail_outdated: {
    cause: 'The link or code in this mail has ended or was used, a newer mail was sent, or the mail is no longer due.',
    cure: 'Do what `detail` says: mostly, have the user ask for another one.',
  },
  consumers_behind: {
    cause: 'A backend was seen without the new key, or tokens signed with the old one are still valid.',
    cure: 'Set the new key there, or wait until the time in `detail`; `authctl app signing CODE` shows the state.',
  },
  signing_step_impossible: {
    cause: 'The steps of a key change have an order, or somebody else took this one.',
    cure: 'Look at the state first: `authctl app signing CODE`, or `authctl signing-key list`.',
  },
  built_in: {
    cause: 'The app, the role or the permission belongs to Gatehouse itself.',
    cure: 'Leave it as it is, and make your own beside it.',
  },
  request_timeout: {
    cause: 'The request was not complete after 30 seconds, or its headers after 10.',
    cure: 'Send it again; if it happens often, look at the network or at a proxy that holds bodies back.',
  },
  payload_too_large: {
    cause: 'The body is longer than the route allows, which is 64 KiB unless the API document says otherwise.',
    cure: 'Send less at a time; `authctl user import` splits a large file.',
  },
  unsupported_media_type: {
    cause: 'The `Content-Type` is not one that the route takes, is not UTF-8, or the body is compressed.',
    cure: 'Send `Content-Type: application/json`, without `Content-Encoding`.',
  },
  account_locked: {
    cause: 'Too many wrong passwords or codes were sent for this address.',
    cure: 'Wait for `Retry-After` seconds, or an admin runs `authctl user unlock USER`.',
  },
  headers_too_large: {
    cause: 'The headers are longer than 64 KiB, mostly because of cookies.',
    cure: 'Send fewer cookies, or clear those of this site.',
  },
  rate_limited: {
    cause: 'Too many calls came from one network address, by one user, for one e-mail address or to one app.',
    cure: 'Wait for `Retry-After` seconds; the operator sets `AUTH_RATE_LIMIT_…`, and a backend can get the scope `limits:exempt`.',
  },
  internal_error: {
    cause: 'A fault of this service.',
    cure: 'Give the operator the `request_id`, which is in the log with the error; then try again once.',
  },
  unavailable: {
    cause: 'The database or a provider cannot be reached, or too many passwords wait to be hashed.',
    cure: 'Try again after `Retry-After` seconds; the operator runs `gatehouse check` and looks at `/ready`.',
  },
}

// Generated from docs/openapi.json (e20f104903ff019437e90c659ae7e262e23857fbd0b115acdf57fd885d9ef40f). Do not edit.

export interface paths {
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process serves; asks no database */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server should get requests; 503 with the failing check otherwise */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The settings that tell what the service lets others do; no secret, and nothing of its surroundings */
        get: operations["getAdminSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a user through an app
         * @description 201 for a new user, 200 for an existing one (`register_or_login`, `register_or_return`). The token members are there when access is granted. `register_or_return` is for services and never gives tokens: it needs the bearer of a service account with the scope `users:register_or_return` for this app, or of a system_admin with the token of an app that administers.
         */
        post: operations["postAuthRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in through an app */
        post: operations["postAuthLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a refresh token for new tokens */
        post: operations["postAuthRefresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the session of a refresh token */
        post: operations["postAuthLogout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the own account */
        get: operations["getAuthMe"];
        put?: never;
        post?: never;
        /**
         * Delete the own account
         * @description As when an admin does it: the e-mail is free again and every token dead, in every app. A mail tells of it. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        delete: operations["deleteAuthMe"];
        options?: never;
        head?: never;
        /**
         * Change the names of the own account
         * @description The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAuthMe"];
        trace?: never;
    };
    "/api/v1/auth/password/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the own password
         * @description This session goes on with the tokens of the answer; all others end, in every app.
         */
        post: operations["postAuthPasswordChange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/password/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a new password with the token of a mail
         * @description Every session of the user ends, in every app, and a lockout is cleared. It logs nobody in, and a second factor stays on. A password that is refused leaves the token as it was.
         */
        post: operations["postAuthPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for another mail that verifies the address
         * @description One answer, whoever asks: a mail goes out only when a user of the app has the address, and in any 15 minutes three at most. Links that were sent before for the same purpose are dead once a newer one is on its way.
         */
        post: operations["postAuthEmailResend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/password/forgot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for a mail to set a new password
         * @description One answer, whoever asks: a mail goes out only when a user of the app has the address, and in any 15 minutes three at most. Links that were sent before for the same purpose are dead once a newer one is on its way.
         */
        post: operations["postAuthPasswordForgot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/magic-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for a mail to log in with
         * @description One answer, whoever asks: a mail goes out only when a user of the app has the address, and in any 15 minutes three at most. Links that were sent before for the same purpose are dead once a newer one is on its way.
         */
        post: operations["postAuthMagicLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify an e-mail address with the token of a mail
         * @description For an app with `require_verified_email` the account must be shown to be held as well: by its `password`, or by the bearer of one of its sessions. Without either the address is verified, and such apps stay closed until a magic link, a password reset or a trusted provider proves the mailbox. A wrong password leaves the token as it was.
         */
        post: operations["postAuthEmailVerify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/disown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say, with the token of a verification mail, that the account is none of yours
         * @description Deletes an account that nobody has proven. Any other stays, and the token is spent.
         */
        post: operations["postAuthEmailDisown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for another e-mail address
         * @description A link is mailed to the new address, and nothing changes before it is opened. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        post: operations["postAuthEmailChange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/change/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the e-mail address with the token of a mail
         * @description Sessions go on. The old address is told, with a link that takes the change back for 72 hours. As with `POST /auth/email/verify`, apps with `require_verified_email` open to whoever also brings the `password` or a bearer of the account.
         */
        post: operations["postAuthEmailChangeConfirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/email/change/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a change of the e-mail address back with the token of the notice
         * @description The old address is back, whatever was changed since, and every session of the account ends, in every app.
         */
        post: operations["postAuthEmailChangeUndo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/magic-link/consume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in with the token of a mail
         * @description Through the app that the mail was asked for. A second factor is asked for as at a login, and a try that fails leaves the token as it was. It verifies the address; where nobody had, password, second factor and sessions of the account are removed first.
         */
        post: operations["postAuthMagicLinkConsume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/sso/{provider}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Send a browser to a provider
         * @description Answers with a redirect to the provider. A request that is not valid redirects nowhere: it is answered here, to a browser by a page. Counted by AUTH_RATE_LIMIT_IP, apart from other calls.
         */
        get: operations["getAuthSsoByProviderStart"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/sso/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where a provider sends the browser back to
         * @description Redirects to the `redirect_url` of the start with its `state` and a `code` for `POST /auth/sso/token`, or with `error`: `access_denied`, `temporarily_unavailable` or `server_error`. What leads nowhere, as an answer that comes a second time, is told here, to a browser by a page.
         */
        get: operations["getAuthSsoByProviderCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/identities/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to link the own account with a provider
         * @description Send the browser to `location`. It comes back to `redirect_url` as from a login, and `POST /auth/sso/token` with the bearer of this very session makes the link, within ten minutes. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        post: operations["postAuthIdentitiesLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/sso/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange the code of a third-party login for tokens, or that of a link for the identity
         * @description A code is good for five minutes and for one login; a try that fails, as for want of a second factor, leaves it as it was. A user who has no account in the pools of the app is registered. An e-mail links to the user who has it only when the provider is trusted for its domain and the user holds no global role but `base_user`: otherwise `link_required`. The code of a link (`POST /auth/identities/link`) gives no tokens: it takes the bearer of the session that began it, and answers with the identity.
         */
        post: operations["postAuthSsoToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/2fa/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a seed for an authenticator app
         * @description TOTP (RFC 6238): SHA-1, 6 digits, 30 seconds. Logins are as before until it is activated; a repeated call replaces the seed. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        post: operations["postAuth2faSetup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/2fa/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn the second factor on with a code of the authenticator app
         * @description From now on a login asks for a code. The recovery codes are shown this once. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        post: operations["postAuth2faActivate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/2fa/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn the second factor off
         * @description Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        post: operations["postAuth2faDisable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the own sessions that are alive, newest first */
        get: operations["getAuthSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End one of the own sessions */
        delete: operations["deleteAuthSessionsBySessionId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End all of the own sessions, in every app */
        post: operations["postAuthLogoutAll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End all sessions of a user, in every app */
        post: operations["postAdminUsersByUserIdLogout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the providers that the own account is linked with, newest first */
        get: operations["getAuthIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the providers that a user is linked with, newest first */
        get: operations["getAdminUsersByUserIdIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/identities/{identityId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Unlink a user from a provider
         * @description Also the last one: the user then sets a password by a reset. Sessions go on.
         */
        delete: operations["deleteAdminUsersByUserIdIdentitiesByIdentityId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/identities/{identityId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Unlink the own account from a provider
         * @description Not when no password and no other provider would be left to log in with. Sessions go on. Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries `password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.
         */
        delete: operations["deleteAuthIdentitiesByIdentityId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List apps, newest first */
        get: operations["getAdminApps"];
        put?: never;
        /**
         * Create an app
         * @description Answers with `warnings` when users of more than one of its pools share e-mails, or when its tokens will be long.
         */
        post: operations["postAdminApps"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an app
         * @description With `warnings` when its tokens are long.
         */
        get: operations["getAdminAppsByAppId"];
        put?: never;
        post?: never;
        /** Delete an app */
        delete: operations["deleteAdminAppsByAppId"];
        options?: never;
        head?: never;
        /**
         * Change settings of an app
         * @description Setting its pools answers with `warnings` when users of more than one of them share e-mails; setting its services or the scope of its permissions, when its tokens will be long. The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAdminAppsByAppId"];
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/apps/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grant a user access to an app
         * @description 201 when the grant was made, 200 when it was active already.
         */
        post: operations["postAdminUsersByUserIdAppsByAppId"];
        /**
         * Revoke a user's access to an app
         * @description Kills the tokens and sessions of this user for this app; other apps are unaffected. 404 when no grant is active.
         */
        delete: operations["deleteAdminUsersByUserIdAppsByAppId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the grants of a user, newest first */
        get: operations["getAdminUsersByUserIdApps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/{appId}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the grants of an app with their users, newest first */
        get: operations["getAdminAppsByAppIdUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/{appId}/webhook-deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the deliveries of an app’s webhooks, newest first */
        get: operations["getAdminAppsByAppIdWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/{appId}/webhooks/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fire a sample event at an app’s webhooks
         * @description Shaped like `user.registered` and marked `test: true`; its user is nobody. 200, with where it would go, is a dry run.
         */
        post: operations["postAdminAppsByAppIdWebhooksTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhook-deliveries/{deliveryId}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a finished delivery again
         * @description Under the same `webhook-id`, to the URL that its webhook has now, with three attempts. 200, with where it would go, is a dry run.
         */
        post: operations["postAdminWebhookDeliveriesByDeliveryIdRedeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search users, newest first */
        get: operations["getAdminUsers"];
        put?: never;
        /**
         * Create a user
         * @description Sends no mail and no webhook, and grants no app.
         */
        post: operations["postAdminUsers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a user with pools, apps, roles and organizations */
        get: operations["getAdminUsersByUserId"];
        put?: never;
        post?: never;
        /**
         * Delete a user
         * @description The e-mail is free again and every token dead; roles, memberships, pool tags and grants go. The id stays. A dry run with `erase` answers 200 with how much would be blanked.
         */
        delete: operations["deleteAdminUsersByUserId"];
        options?: never;
        head?: never;
        /**
         * Change the names, the e-mail or the state of a user
         * @description Suspending ends all sessions and kills all tokens; activating brings none back. A new e-mail is unverified and ends none. The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAdminUsersByUserId"];
        trace?: never;
    };
    "/api/v1/admin/users/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import users with their password hashes
         * @description Newline-delimited JSON, one user a line, committed per 500 lines; a bad line stops no other. Users are told by (namespace, e-mail): to one who exists, tags, apps and roles are added, and nothing else is changed. A line for an unproven account, which somebody else may have registered, fails with `account_unverified` unless `claim_unverified=true`. Sends no mail and no webhook.
         */
        post: operations["postAdminUsersImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/lockouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what failed logins have locked, or count towards a lock
         * @description Ordered by key. An address that nobody has is counted too; its e-mail is not stored.
         */
        get: operations["getAdminLockouts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lift the lockout of a user
         * @description Forgets wrong passwords and wrong second-factor codes, whether or not they led to a lock.
         */
        post: operations["postAdminUsersByUserIdUnlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pools by name
         * @description Those that a user or an app names; there is no other way to make one. Pools that only apps name have no users.
         */
        get: operations["getAdminNamespaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/namespaces/{namespace}/collisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the e-mails that would meet if one app read both pools
         * @description By e-mail. An app that reads both finds one user of each alone. 404 for a pool that no user and no app names.
         */
        get: operations["getAdminNamespacesByNamespaceCollisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/namespace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Move a user to another home pool
         * @description Ends all sessions and kills all tokens, which name the pool. A tag of the new pool is dropped; the old pool is not kept as one.
         */
        put: operations["putAdminUsersByUserIdNamespace"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Add and remove pool tags of a user
         * @description Sessions go on. Adding a pool that the user is in, and removing one that is no tag, changes nothing.
         */
        patch: operations["patchAdminUsersByUserIdNamespaces"];
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/2fa": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take the second factor of a user away
         * @description For somebody who lost both the device and the recovery codes. 404 when no second factor is active.
         */
        delete: operations["deleteAdminUsersByUserId2fa"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/organizations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List organizations, newest first */
        get: operations["getAdminOrganizations"];
        put?: never;
        /**
         * Create an organization
         * @description Without `slug`, one is made from the name, with a suffix where that is taken.
         */
        post: operations["postAdminOrganizations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/organizations/{organizationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an organization */
        get: operations["getAdminOrganizationsByOrganizationId"];
        put?: never;
        post?: never;
        /**
         * Delete an organization
         * @description With its invitations; 409 while an app names it or users are members.
         */
        delete: operations["deleteAdminOrganizationsByOrganizationId"];
        options?: never;
        head?: never;
        /**
         * Change the name or slug of an organization
         * @description Tokens carry a new slug from their next refresh on. The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAdminOrganizationsByOrganizationId"];
        trace?: never;
    };
    "/api/v1/admin/organizations/{organizationId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the members of an organization, newest first */
        get: operations["getAdminOrganizationsByOrganizationIdMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/organizations/{organizationId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Make a user a member, or replace a member's roles
         * @description 201 when the user became a member, 200 when one already. Only org-scoped roles are taken.
         */
        put: operations["putAdminOrganizationsByOrganizationIdMembersByUserId"];
        post?: never;
        /**
         * Remove a member from an organization
         * @description Tokens with this organization go on until they expire; they cannot be refreshed with it.
         */
        delete: operations["deleteAdminOrganizationsByOrganizationIdMembersByUserId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/organizations/{organizationId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the members of an organization, newest first, as its org_admin */
        get: operations["getOrganizationsByOrganizationIdMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/organizations/{organizationId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the roles of a member, as its org_admin
         * @description Only org-scoped roles are taken; those added and taken away must be `assignable_by` an org_admin. A user who is not a member is 404, as is an unknown id: users join by an invitation.
         */
        put: operations["putOrganizationsByOrganizationIdMembersByUserId"];
        post?: never;
        /**
         * Remove a member from an organization, as its org_admin, or leave it
         * @description Tokens with this organization go on until they expire; they cannot be refreshed with it. Any member may leave. The last active org_admin may only while no other member is left. Somebody else who holds a role that only a system_admin takes away cannot be removed.
         */
        delete: operations["deleteOrganizationsByOrganizationIdMembersByUserId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/organizations/{organizationId}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the invitations of an organization, newest first */
        get: operations["getAdminOrganizationsByOrganizationIdInvitations"];
        put?: never;
        /**
         * Invite to an organization
         * @description The token is shown this once. Accepting grants the app of `app_code`, and verifies the address of `email`.
         */
        post: operations["postAdminOrganizationsByOrganizationIdInvitations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/organizations/{organizationId}/invitations/{invitationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take an invitation back */
        delete: operations["deleteAdminOrganizationsByOrganizationIdInvitationsByInvitationId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/organizations/{organizationId}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the invitations of an organization, newest first, as its org_admin */
        get: operations["getOrganizationsByOrganizationIdInvitations"];
        put?: never;
        /**
         * Invite to an organization, as its org_admin
         * @description The token is shown this once. `app_code` only says whose frontend the link leads to. The own address must be verified, and AUTH_INVITATION_LIMIT holds.
         */
        post: operations["postOrganizationsByOrganizationIdInvitations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/organizations/{organizationId}/invitations/{invitationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take an invitation back, as its org_admin */
        delete: operations["deleteOrganizationsByOrganizationIdInvitationsByInvitationId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invitation with the own account
         * @description Joins the inviting organization with the invitation’s roles. A member already gets 409: the membership stays as it is and the invitation unused. A token with the organization comes from a refresh with its `organization_id`.
         */
        post: operations["postAuthInvitationsAccept"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List roles, by code */
        get: operations["getAdminRoles"];
        put?: never;
        /** Create a role */
        post: operations["postAdminRoles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/roles/{roleCode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a role */
        get: operations["getAdminRolesByRoleCode"];
        put?: never;
        post?: never;
        /**
         * Delete a role
         * @description 409 while an app names it or users hold it. Pending invitations go on without it.
         */
        delete: operations["deleteAdminRolesByRoleCode"];
        options?: never;
        head?: never;
        /**
         * Change the name or description of a role
         * @description Its code and scope never change. The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAdminRolesByRoleCode"];
        trace?: never;
    };
    "/api/v1/admin/roles/{roleCode}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the permissions of a role, by code
         * @description `super_admin` holds every permission.
         */
        get: operations["getAdminRolesByRoleCodePermissions"];
        /** Replace the permissions of a role */
        put: operations["putAdminRolesByRoleCodePermissions"];
        /** Add permissions to a role */
        post: operations["postAdminRolesByRoleCodePermissions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/roles/{roleCode}/permissions/{permission}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take a permission from a role */
        delete: operations["deleteAdminRolesByRoleCodePermissionsByPermission"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the global roles of a user, by code */
        get: operations["getAdminUsersByUserIdRoles"];
        put?: never;
        /**
         * Give a user a global role
         * @description 201 when the user did not hold it, 200 when already. Tokens carry it from their next refresh on. `system_admin` and `super_admin` are refused to an unproven account, which somebody else may have registered.
         */
        post: operations["postAdminUsersByUserIdRoles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{userId}/roles/{roleCode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a global role from a user
         * @description Tokens carry it until their next refresh; the admin API is closed to a former system_admin at once.
         */
        delete: operations["deleteAdminUsersByUserIdRolesByRoleCode"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List permissions, newest first
         * @description Pruned permissions are not among them.
         */
        get: operations["getAdminPermissions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/permissions/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Declare all permissions of a service
         * @description For a service account of that service with the scope `permissions:register`, or a system_admin; meant for every boot. What the service declared before and does not now is pruned: it leaves tokens and lists at once, and the roles that held it hold it again when the same service declares it again. Callers at once have their way one after the other, each whole.
         */
        post: operations["postAdminPermissionsRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/service-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List service accounts, newest first */
        get: operations["getAdminServiceAccounts"];
        put?: never;
        /**
         * Create a service account
         * @description The token is shown this once. The scope `permissions:register` registers the permissions of its own service. The others hold for the apps of `app_codes` alone: `users:register_or_return` registers users in the mode `register_or_return`, `users:override` links apps at a login or registration that no app declares, `tokens:introspect` introspects tokens, and `limits:exempt` lifts the limit by address.
         */
        post: operations["postAdminServiceAccounts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/service-accounts/{serviceAccountId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a service account another token
         * @description The old token is dead at once; the new one is shown this once.
         */
        post: operations["postAdminServiceAccountsByServiceAccountIdRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/service-accounts/{serviceAccountId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a service account */
        delete: operations["deleteAdminServiceAccountsByServiceAccountId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/sso-providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List providers, newest first */
        get: operations["getAdminSsoProviders"];
        put?: never;
        /**
         * Set up a provider
         * @description Any OpenID Connect issuer, by discovery. `google` needs no `issuer`. Register `callback_url` at the provider.
         */
        post: operations["postAdminSsoProviders"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/sso-providers/{providerCode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a provider */
        get: operations["getAdminSsoProvidersByProviderCode"];
        put?: never;
        post?: never;
        /** Delete a provider */
        delete: operations["deleteAdminSsoProvidersByProviderCode"];
        options?: never;
        head?: never;
        /**
         * Change a provider
         * @description Disabling it refuses logins from then on, those under way too; sessions go on. The record can be sent back as it was read: members that cannot be set here are ignored when they are what they are, and 400 when not.
         */
        patch: operations["patchAdminSsoProvidersByProviderCode"];
        trace?: never;
    };
    "/api/v1/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit events, newest first
         * @description All filters that are given apply together. A filter that nothing fits gives an empty page.
         */
        get: operations["getAdminAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an audit event */
        get: operations["getAdminAuditById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/revocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What local validators of an app have to learn, since a cursor
         * @description The events of the consumer’s app and those for all apps, at least once each. They are kept for 3,660 seconds, longer than any access token lives: whoever comes back later has missed nothing that still matters. An inactive app has its feed too, and so has the code of a deleted one for as long, unless another app takes it. `X-App-Id` is the id of the app, `X-Service-Id` that of the service, one per database.
         */
        get: operations["getRevocations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/revocations/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The same as server-sent events, each as it happens
         * @description Each event has its cursor as `id` and a Revocation as `data`; a comment comes every 15 seconds. `Last-Event-ID` resumes, and without one all that is live comes first. An event named `reset` says what `reset` of the poll says. A reader that is too slow is dropped, and every stream ends when the server stops: connect again. `X-App-Id` is the id of the app, `X-Service-Id` that of the service, one per database.
         */
        get: operations["getRevocationsStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/introspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether an access token is alive, and its claims (RFC 7662)
         * @description For consumers without the SDK. The caller is the consumer of an app, by its assertion, and is told about tokens of that app; or a service account with the scope `tokens:introspect`, by its token as bearer, as password of HTTP Basic or as `client_secret` in the body, and is told about tokens of its `app_codes`. Anything else is `{"active": false}`.
         */
        post: operations["postAuthIntrospect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/consumer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What this service takes the caller for
         * @description For a backend that checks its settings: a signature that is not ours is `token_invalid`, a code that no app has `app_not_found`. `service_id` tells this service from that of another environment.
         */
        get: operations["getConsumer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Which signing secrets this server and the consumers of each app accept
         * @description Secrets are named by their key id. While the secret is being rotated, the new one may sign as soon as every app has a line with its key id and no consumer was lately seen without it (docs/rotating-the-secret.md).
         */
        get: operations["getAdminSecrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain what a login would answer, and why
         * @description Runs the login of a user through an app as if the password, and the second factor where there is one, were right, and takes everything back that it wrote. The answer is 200 whatever the outcome; 404 only for an unknown `user_id`.
         */
        get: operations["getAdminExplain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["getOpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Register: {
            email: string;
            /**
             * Format: password
             * @description 8 characters to 1,024 bytes
             */
            password: string;
            first_name?: string | null;
            last_name?: string | null;
            app_code?: string | null;
            /** @description `register` unless told */
            mode?: ("register" | "register_or_login" | "register_or_return") | null;
            invite_code?: string | null;
            invite_token?: string | null;
            organization_name?: string | null;
            /** @description Only with `register_or_login` of an existing user */
            two_factor_code?: string | null;
            /** @description `device_token` of an earlier answer for the same e-mail; one that is not good counts as none */
            device_token?: string | null;
            role_code?: string | null;
            linked_app_codes?: string[] | null;
        } & {
            [key: string]: unknown;
        };
        Login: {
            email: string;
            /** Format: password */
            password: string;
            app_code?: string | null;
            organization_id?: string | null;
            /** @description 6 digits of the authenticator app, or a recovery code */
            two_factor_code?: string | null;
            /** @description `device_token` of an earlier answer for the same e-mail; one that is not good counts as none */
            device_token?: string | null;
            role_code?: string | null;
            linked_app_codes?: string[] | null;
        } & {
            [key: string]: unknown;
        };
        Refresh: {
            refresh_token: string;
            organization_id?: string | null;
        };
        Logout: {
            refresh_token: string;
        };
        UpdateProfile: {
            /** @description null or a blank text clears it */
            first_name?: string | null;
            /** @description null or a blank text clears it */
            last_name?: string | null;
        };
        DeleteOwnAccount: {
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
        };
        ChangePassword: {
            /** Format: password */
            current_password: string;
            /**
             * Format: password
             * @description 8 characters to 1,024 bytes
             */
            new_password: string;
        };
        ResetPassword: {
            /** @description The `token` of the link in the mail */
            token: string;
            /**
             * Format: password
             * @description 8 characters to 1,024 bytes
             */
            password: string;
        };
        MailRequest: {
            email: string;
            app_code?: string | null;
            /** @description Rides along in the link; one of the `allowed_redirect_urls` of the app */
            redirect_url?: string | null;
        };
        VerifyEmail: {
            /** @description The `token` of the link in the mail */
            token: string;
            /**
             * Format: password
             * @description Of the account; an app that asks for verified addresses opens with it, or with a bearer of the account
             */
            password?: string;
        };
        DisownEmail: {
            /** @description The `token` of the link in the mail */
            token: string;
        };
        ChangeEmail: {
            email: string;
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
        };
        ConfirmEmailChange: components["schemas"]["VerifyEmail"];
        UndoEmailChange: {
            /** @description The `token` of the link in the mail */
            token: string;
        };
        ConsumeMagicLink: {
            /** @description The `token` of the link in the mail */
            token: string;
            /** @description 6 digits of the authenticator app, or a recovery code */
            two_factor_code?: string | null;
        };
        LinkIdentity: {
            /** @description Code of the provider */
            provider: string;
            /** @description One of the `allowed_redirect_urls` of the app */
            redirect_url: string;
            /** @description PKCE, S256 */
            code_challenge: string;
            code_challenge_method?: string;
            /** @description Comes back as it is */
            state: string;
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
        };
        ExchangeSsoCode: {
            code: string;
            /** @description What `code_challenge` is the SHA-256 of */
            code_verifier: string;
            /** @description 6 digits of the authenticator app, or a recovery code */
            two_factor_code?: string | null;
        };
        SetUpTwoFactor: {
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
        };
        ActivateTwoFactor: {
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
            /** @description 6 digits of the authenticator app */
            code: string;
        };
        DisableTwoFactor: {
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
            /** @description The same as `two_factor_code` */
            code?: string;
        };
        UnlinkIdentity: {
            /**
             * Format: password
             * @description Needed unless the last login was in the last 10 minutes
             */
            password?: string;
            /** @description The same, where a second factor is active: a code of it */
            two_factor_code?: string | null;
        };
        CreateApp: {
            code: string;
            name: string;
            description?: string | null;
            /** @enum {string} */
            status?: "active" | "inactive";
            /** @description Compared as raw strings; a final * allows a prefix */
            allowed_redirect_urls?: string[] | null;
            /** @description Services whose permissions the tokens carry; the app code unless told */
            service_codes?: string[] | null;
            auto_grant_on_signup?: boolean | null;
            /** @description Home pool of new users; `default` unless told */
            registration_namespace?: string | null;
            /** @description Further pools whose users may log in */
            read_namespaces?: string[] | null;
            default_organization_id?: string | null;
            default_role_code?: string | null;
            linked_app_codes?: string[] | null;
            override_role_codes?: string[] | null;
            frontend_url?: string | null;
            allowed_email_domains?: string[] | null;
            /** @description How one may register or link a login through this app: `password`, `magic_link`, `passkey`, `google`, or the code of a provider. Users who are there already log in by any method */
            allowed_auth_methods?: string[] | null;
            webhooks?: {
                name: string;
                url: string;
                /**
                 * @default [
                 *       "user.registered"
                 *     ]
                 */
                events: "user.registered"[];
                /** @default true */
                enabled: boolean;
                /** @description Signs deliveries; write-only. Left out, the secret of that name is kept */
                secret?: string | null;
                /** @description Ignored, so that what was read can be written back */
                has_secret?: unknown;
            }[] | null;
            permission_scope?: ("services" | "roles") | null;
            sign_up?: ("open" | "invitation" | "closed") | null;
            /** @description Whether a registration may found an organization by `organization_name`; true unless told */
            organization_sign_up?: boolean | null;
            /** @description Whether tokens are for those alone who have shown that they read the mail of their address */
            require_verified_email?: boolean | null;
        };
        UpdateApp: {
            name?: string;
            description?: string | null;
            /** @enum {string} */
            status?: "active" | "inactive";
            /** @description Compared as raw strings; a final * allows a prefix */
            allowed_redirect_urls?: string[] | null;
            /** @description Services whose permissions the tokens carry; the app code unless told */
            service_codes?: string[] | null;
            auto_grant_on_signup?: boolean | null;
            /** @description Home pool of new users; `default` unless told */
            registration_namespace?: string | null;
            /** @description Further pools whose users may log in */
            read_namespaces?: string[] | null;
            default_organization_id?: string | null;
            default_role_code?: string | null;
            linked_app_codes?: string[] | null;
            override_role_codes?: string[] | null;
            frontend_url?: string | null;
            allowed_email_domains?: string[] | null;
            /** @description How one may register or link a login through this app: `password`, `magic_link`, `passkey`, `google`, or the code of a provider. Users who are there already log in by any method */
            allowed_auth_methods?: string[] | null;
            webhooks?: {
                name: string;
                url: string;
                /**
                 * @default [
                 *       "user.registered"
                 *     ]
                 */
                events: "user.registered"[];
                /** @default true */
                enabled: boolean;
                /** @description Signs deliveries; write-only. Left out, the secret of that name is kept */
                secret?: string | null;
                /** @description Ignored, so that what was read can be written back */
                has_secret?: unknown;
            }[] | null;
            permission_scope?: ("services" | "roles") | null;
            sign_up?: ("open" | "invitation" | "closed") | null;
            /** @description Whether a registration may found an organization by `organization_name`; true unless told */
            organization_sign_up?: boolean | null;
            /** @description Whether tokens are for those alone who have shown that they read the mail of their address */
            require_verified_email?: boolean | null;
        };
        GrantAccess: {
            /** @description When the access ends, five seconds from now at the earliest; no token outlives it */
            expires_at?: string | null;
            /** @description Why, for other admins */
            reason?: string | null;
        };
        TestWebhooks: {
            /** @description Name of the one to try; every enabled one unless told */
            webhook?: string;
        };
        CreateUser: {
            email: string;
            /**
             * Format: password
             * @description 8 characters to 1,024 bytes. Without one, the user sets it by a reset
             */
            password?: string;
            first_name?: string | null;
            last_name?: string | null;
            /** @description Home pool; `default` unless told */
            namespace?: string;
            /** @description Pool tags */
            tags?: string[];
            email_verified?: boolean;
            /** @description Global roles besides `base_user`, which every user holds */
            roles?: string[];
        };
        UpdateUser: {
            first_name?: string | null;
            last_name?: string | null;
            /** @description A new address is unverified */
            email?: string;
            /** @enum {string} */
            status?: "active" | "suspended";
        };
        ImportedUser: {
            email: string;
            /** @description bcrypt ($2a, $2b, $2y) of cost 4 to 14; without one, the user resets */
            password_hash?: string | null;
            first_name?: string | null;
            last_name?: string | null;
            /** @description Home pool; `default` unless told */
            namespace?: string;
            tags?: string[];
            /** @description Apps to grant, by code or UUID */
            apps?: string[];
            /** @description Global roles besides `base_user` */
            roles?: string[];
            email_verified?: boolean;
        };
        MoveUser: {
            /** @description The new home pool */
            namespace: string;
        };
        ChangePoolTags: {
            add?: string[];
            remove?: string[];
        };
        CreateOrganization: {
            name: string;
            /** @description Made from the name unless told */
            slug?: string | null;
        };
        UpdateOrganization: {
            name?: string;
            slug?: string;
        };
        PutMember: {
            /** @description Org-scoped roles; they replace those held */
            role_codes: string[];
        };
        CreateInvitation: {
            /** @description Only the user of this address may accept; anybody with the token unless told */
            email?: string | null;
            /** @description Org-scoped roles of the membership */
            role_codes: string[];
            /** @description Whose frontend the link leads to; granted too when a system_admin invites */
            app_code?: string | null;
            /** @description 7 days unless told, 90 days at most */
            expires_in_seconds?: number | null;
        };
        AcceptInvitation: {
            token: string;
        };
        CreateRole: {
            code: string;
            name: string;
            /**
             * @description `global`: held by users as such; `org`: held by members of an organization, in it
             * @enum {string}
             */
            scope: "global" | "org";
            description?: string | null;
            /**
             * @description Who gives and takes an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may
             * @enum {string}
             */
            assignable_by?: "system_admin" | "org_admin";
        };
        UpdateRole: {
            name?: string;
            description?: string | null;
            /**
             * @description Who gives and takes an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may
             * @enum {string}
             */
            assignable_by?: "system_admin" | "org_admin";
            /**
             * @description Only what it is already: a scope never changes
             * @enum {string}
             */
            scope?: "global" | "org";
        };
        PermissionCodes: {
            /** @description Codes: `resource:action` */
            permissions: string[];
        };
        AssignRole: {
            role_code: string;
        };
        RegisterPermissions: {
            service: string;
            /** @description All that the service has; an empty list prunes every permission */
            permissions: {
                code: string;
                name: string;
                resource: string;
                action: string;
            }[];
            /** @description Grows with each release of the list. A call with a lower one than the newest seen prunes nothing */
            revision?: number;
            /** @description When more would be pruned, nothing is done */
            max_prune?: number;
        };
        CreateServiceAccount: {
            name: string;
            /** @description The service whose permissions it may register */
            service: string;
            /** @description `permissions:register` unless told */
            scopes?: ("permissions:register" | "users:register_or_return" | "users:override" | "tokens:introspect" | "limits:exempt")[] | null;
            /** @description The apps that its scopes hold for. Every scope but `permissions:register` needs one; each must exist */
            app_codes?: string[] | null;
            /** @description When its token ends; never unless told */
            expires_at?: string | null;
        };
        CreateSsoProvider: {
            /** @description Names the provider in URLs and in `allowed_auth_methods`; never changes */
            code: string;
            /** @description Where `/.well-known/openid-configuration` is; known for `google` */
            issuer?: string;
            client_id: string;
            /**
             * Format: password
             * @description Write-only
             */
            client_secret: string;
            /** @description `openid email profile` unless told; `openid` is always among them */
            scopes?: string[];
            /** @description The apps that its users may log in to. `*`: every app. Default: none */
            app_codes?: string[];
            /** @description The domains where an address that the provider has verified counts as verified here. `*`: every domain. Default: none. `google` is also trusted for `gmail.com` and for the domain in `hd` */
            trusted_email_domains?: string[];
            /** @description True unless told */
            enabled?: boolean;
        };
        UpdateSsoProvider: {
            /** @description Only while no user is linked */
            issuer?: string;
            client_id?: string;
            /**
             * Format: password
             * @description Write-only
             */
            client_secret?: string;
            /** @description `openid email profile` unless told; `openid` is always among them */
            scopes?: string[];
            /** @description The apps that its users may log in to. `*`: every app. Default: none */
            app_codes?: string[];
            /** @description The domains where an address that the provider has verified counts as verified here. `*`: every domain. Default: none. `google` is also trusted for `gmail.com` and for the domain in `hd` */
            trusted_email_domains?: string[];
            enabled?: boolean;
        };
        Introspect: {
            /** @description The access token that a caller brought */
            token: string;
            /** @description Not needed */
            token_type_hint?: string;
            /** @description Not needed */
            client_id?: string;
            /**
             * Format: password
             * @description The token of a service account, in place of an `Authorization` header (`client_secret_post`)
             */
            client_secret?: string;
        };
        Health: {
            /** @constant */
            status: "ok";
            version: string;
        };
        Error: {
            status: number;
            /** @description A stable word to switch on */
            code: string;
            title: string;
            detail: string | null;
            /** @description Only with `validation_failed` */
            errors?: {
                /** @description Member names and list positions joined by dots: `webhooks.0.url` */
                path: string;
                /** @enum {string} */
                code: "required" | "invalid_type" | "invalid_value" | "unknown_field" | "too_short" | "too_long" | "too_common";
                message: string;
            }[];
            request_id: string;
        };
        Ready: {
            /** @enum {string} */
            status: "ready" | "not_ready";
            checks: {
                accepting: {
                    ok: boolean;
                    detail: string | null;
                };
                database: {
                    ok: boolean;
                    detail: string | null;
                };
                migrations: {
                    ok: boolean;
                    detail: string | null;
                };
            };
        };
        Settings: {
            /** @description Production mode */
            production: boolean;
            /**
             * @description AUTH_CLIENT_OVERRIDES
             * @enum {string}
             */
            client_overrides: "open" | "declared";
            /** @description AUTH_ADMIN_APP_CODES; `*` is all */
            admin_app_codes: string[];
        };
        Registration: {
            created: boolean;
            user: components["schemas"]["User"];
            app: {
                /** Format: uuid */
                id: string;
                code: string;
            };
            /**
             * @description `pending` waits for an admin, `unverified` for the user to verify the address, which this app asks for
             * @enum {string}
             */
            access: "granted" | "pending" | "unverified";
            organization: {
                /** Format: uuid */
                id: string;
                slug: string;
                name: string;
                role_codes: string[];
            } | null;
            /** @constant */
            token_type?: "Bearer";
            access_token?: string;
            /** @description Seconds until the access token expires */
            expires_in?: number;
            refresh_token?: string;
            /** @description Seconds until the refresh token expires when it is not used */
            refresh_expires_in?: number;
            /** @description Send it with the next login for the same e-mail: guesses of strangers then cannot lock this device out. Replaces neither password nor second factor; good for 180 days. Not in the answer of a refresh */
            device_token?: string;
        };
        User: {
            /** Format: uuid */
            id: string;
            email: string;
            email_verified: boolean;
            first_name: string | null;
            last_name: string | null;
            /** @description Home pool */
            namespace: string;
            /** @description Home pool first, then pool tags */
            namespaces: string[];
            /** @enum {string} */
            status: "active" | "suspended" | "deleted";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
        };
        TwoFactorRequired: {
            /** @constant */
            requires_2fa: true;
        };
        Tokens: {
            /** @constant */
            token_type: "Bearer";
            access_token: string;
            /** @description Seconds until the access token expires */
            expires_in: number;
            refresh_token: string;
            /** @description Seconds until the refresh token expires when it is not used */
            refresh_expires_in: number;
            /** @description Send it with the next login for the same e-mail: guesses of strangers then cannot lock this device out. Replaces neither password nor second factor; good for 180 days. Not in the answer of a refresh */
            device_token?: string;
            user: components["schemas"]["User"];
            app: {
                /** Format: uuid */
                id: string;
                code: string;
            } | null;
            organization: {
                /** Format: uuid */
                id: string;
                slug: string;
                name: string;
                role_codes: string[];
            } | null;
        };
        Profile: {
            user: components["schemas"]["User"];
            app: {
                /** Format: uuid */
                id: string;
                code: string;
            } | null;
            roles: string[];
            permissions: string[];
            organizations: {
                /** Format: uuid */
                id: string;
                slug: string;
                name: string;
                role_codes: string[];
            }[];
            /** @description Whether a second factor is active */
            two_factor: boolean;
        };
        IdentityLinkStart: {
            /** @description Where the browser goes: a page of the provider */
            location: string;
        };
        Identity: {
            /** Format: uuid */
            id: string;
            /** @description Code of the provider */
            provider: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
        };
        TwoFactorSetUp: {
            /** @description The seed in base32, to be typed in */
            secret: string;
            /** @description The same as the URL of a QR code */
            otpauth_url: string;
        };
        RecoveryCodes: {
            /** @description Ten codes for one use each; shown this once */
            recovery_codes: string[];
        };
        Session: {
            /** Format: uuid */
            id: string;
            app: {
                /** Format: uuid */
                id: string;
                code: string;
            } | null;
            auth_method: string;
            ip: string | null;
            user_agent: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            last_used_at: string;
            /**
             * Format: date-time
             * @description However often it is refreshed, it ends here
             */
            expires_at: string;
            /** @description Whether it is the session of this very call */
            current: boolean;
        };
        UpdatedApp: {
            /** Format: uuid */
            id: string;
            code: string;
            name: string;
            description: string | null;
            /** @enum {string} */
            status: "active" | "inactive";
            allowed_redirect_urls: string[];
            service_codes: string[];
            auto_grant_on_signup: boolean;
            registration_namespace: string;
            read_namespaces: string[];
            default_organization_id: string | null;
            default_role_code: string | null;
            linked_app_codes: string[];
            override_role_codes: string[];
            frontend_url: string | null;
            allowed_email_domains: string[];
            allowed_auth_methods: string[];
            webhooks: {
                name: string;
                url: string;
                events: "user.registered"[];
                enabled: boolean;
                has_secret: boolean;
            }[];
            /** @enum {string} */
            permission_scope: "services" | "roles";
            /** @enum {string} */
            sign_up: "open" | "invitation" | "closed";
            organization_sign_up: boolean;
            require_verified_email: boolean;
            built_in: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
            /** @description Only when there are any */
            warnings?: ({
                /** @constant */
                code: "email_collisions";
                /** @description Two pools of the app; the user of the first is the one found */
                namespaces: string[];
                /** @description E-mails that have a user in each, among the first 1,000 shared ones */
                count: number;
                message: string;
            } | {
                /** @description Code of the app */
                app: string;
                /** @description How long its tokens will be, in scope `roles` those of the largest role */
                projected_token_bytes: number;
            })[];
        };
        App: {
            /** Format: uuid */
            id: string;
            code: string;
            name: string;
            description: string | null;
            /** @enum {string} */
            status: "active" | "inactive";
            allowed_redirect_urls: string[];
            service_codes: string[];
            auto_grant_on_signup: boolean;
            registration_namespace: string;
            read_namespaces: string[];
            default_organization_id: string | null;
            default_role_code: string | null;
            linked_app_codes: string[];
            override_role_codes: string[];
            frontend_url: string | null;
            allowed_email_domains: string[];
            allowed_auth_methods: string[];
            webhooks: {
                name: string;
                url: string;
                events: "user.registered"[];
                enabled: boolean;
                has_secret: boolean;
            }[];
            /** @enum {string} */
            permission_scope: "services" | "roles";
            /** @enum {string} */
            sign_up: "open" | "invitation" | "closed";
            organization_sign_up: boolean;
            require_verified_email: boolean;
            built_in: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
        };
        ShownApp: {
            /** Format: uuid */
            id: string;
            code: string;
            name: string;
            description: string | null;
            /** @enum {string} */
            status: "active" | "inactive";
            allowed_redirect_urls: string[];
            service_codes: string[];
            auto_grant_on_signup: boolean;
            registration_namespace: string;
            read_namespaces: string[];
            default_organization_id: string | null;
            default_role_code: string | null;
            linked_app_codes: string[];
            override_role_codes: string[];
            frontend_url: string | null;
            allowed_email_domains: string[];
            allowed_auth_methods: string[];
            webhooks: {
                name: string;
                url: string;
                events: "user.registered"[];
                enabled: boolean;
                has_secret: boolean;
            }[];
            /** @enum {string} */
            permission_scope: "services" | "roles";
            /** @enum {string} */
            sign_up: "open" | "invitation" | "closed";
            organization_sign_up: boolean;
            require_verified_email: boolean;
            built_in: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
            /** @description Only when there are any: apps whose tokens pass AUTH_TOKEN_WARN_BYTES. Nothing is refused */
            warnings?: {
                /** @description Code of the app */
                app: string;
                /** @description How long its tokens will be, in scope `roles` those of the largest role */
                projected_token_bytes: number;
            }[];
        };
        GivenGrant: {
            /** Format: uuid */
            user_id: string;
            /** Format: uuid */
            app_id: string;
            app_code: string;
            /** @enum {string} */
            status: "active" | "revoked";
            /**
             * @description `status`, or `expired` for an active grant whose `expires_at` has passed
             * @enum {string}
             */
            effective: "active" | "revoked" | "expired";
            /** @enum {string} */
            granted_via: "admin" | "auto" | "link" | "invitation" | "import";
            /** @description The user or service account; null where the service granted by its settings */
            granted_by: string | null;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            granted_at: string;
            expires_at: string | null;
            revoked_at: string | null;
            /** @description Nobody has proven that this account is theirs: its address may belong to somebody else */
            warnings?: {
                /** @constant */
                code: "account_unverified";
            }[];
        };
        Grant: {
            /** Format: uuid */
            user_id: string;
            /** Format: uuid */
            app_id: string;
            app_code: string;
            /** @enum {string} */
            status: "active" | "revoked";
            /**
             * @description `status`, or `expired` for an active grant whose `expires_at` has passed
             * @enum {string}
             */
            effective: "active" | "revoked" | "expired";
            /** @enum {string} */
            granted_via: "admin" | "auto" | "link" | "invitation" | "import";
            /** @description The user or service account; null where the service granted by its settings */
            granted_by: string | null;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            granted_at: string;
            expires_at: string | null;
            revoked_at: string | null;
        };
        WebhookDelivery: {
            /**
             * Format: uuid
             * @description The header `webhook-id` and the `id` of the body, on every attempt
             */
            id: string;
            /** @description Its name in the app */
            webhook: string;
            /** @description Where the last attempt went, or the first one will go */
            url: string;
            /** @constant */
            event: "user.registered";
            /** @description Fired by an admin; nobody registered */
            test: boolean;
            /** @enum {string} */
            status: "pending" | "delivered" | "failed";
            /** @description That have ended, since the last redelivery when there was one */
            attempts: number;
            /** @description HTTP status of the last attempt; null when there was no answer */
            last_status: number | null;
            last_error: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /** @description While an attempt is under way, when another server would take it over; null once finished */
            next_attempt_at: string | null;
            finished_at: string | null;
        };
        DeliveryPlan: {
            deliveries: {
                /** @description Its name in the app */
                webhook: string;
                url: string;
            }[];
        };
        UserDetail: {
            /** Format: uuid */
            id: string;
            email: string;
            email_verified: boolean;
            first_name: string | null;
            last_name: string | null;
            /** @description Home pool */
            namespace: string;
            /** @description Home pool first, then pool tags */
            namespaces: string[];
            /** @enum {string} */
            status: "active" | "suspended" | "deleted";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            apps: {
                /** Format: uuid */
                app_id: string;
                app_code: string;
                /** @enum {string} */
                status: "active" | "revoked";
                /**
                 * @description `status`, or `expired` for an active grant whose `expires_at` has passed
                 * @enum {string}
                 */
                effective: "active" | "revoked" | "expired";
                expires_at: string | null;
            }[];
            roles: string[];
            organizations: {
                /** Format: uuid */
                id: string;
                slug: string;
                name: string;
                role_codes: string[];
            }[];
            /**
             * @description How the account came to be
             * @enum {string}
             */
            made_by: "self" | "admin" | "import" | "provider" | "bootstrap";
        };
        ErasurePlan: {
            /** Format: uuid */
            user_id: string;
            /** @description False when the user is deleted already */
            deletes: boolean;
            /** @description The e-mail and those that the user had before, as the audit tells */
            addresses: number;
            /** @description Those that are searched for e-mails, names and reasons */
            audit_events: number;
            invitations: number;
            /** @description Sent, or still to be sent: those are dropped */
            mails: number;
            webhook_deliveries: number;
        };
        UserImport: {
            /** @description Users made */
            imported: number;
            /** @description Lines that added tags, apps or roles to a user who was there, or claimed one */
            updated: number;
            /** @description Lines that had nothing to add */
            unchanged: number;
            failed: number;
            /** @description Of the failed lines, the first 10,000 */
            errors: {
                /** @description Counted from 1 */
                line: number;
                code: string;
                message: string;
            }[];
        };
        Lockout: {
            /** @description What the failures are counted by */
            key: string;
            /** @description Null where nobody has the address */
            email: string | null;
            /** @description Null for a known device and for a second factor */
            pool: string | null;
            /** @description Null while the failures have not locked */
            locked_until: string | null;
            failures: number;
        };
        Pool: {
            namespace: string;
            /** @description Users whose home pool it is; suspended ones too, deleted ones not */
            user_count: number;
            /** @description Users who carry it as a pool tag */
            tagged_user_count: number;
            /** @description The apps that name it, by code */
            apps: {
                /** Format: uuid */
                id: string;
                code: string;
                /**
                 * @description Whether the app registers users into the pool, or reads it
                 * @enum {string}
                 */
                as: "registration" | "read";
            }[];
        };
        Collision: {
            email: string;
            /** @description The two users: of `{namespace}` first, then of `with` */
            users: components["schemas"]["User"][];
        };
        UserPools: {
            /** @description Home pool */
            namespace: string;
            /** @description Home pool first, then pool tags */
            namespaces: string[];
        };
        Organization: {
            /** Format: uuid */
            id: string;
            slug: string;
            name: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
        };
        Member: {
            /** Format: uuid */
            id: string;
            email: string;
            email_verified: boolean;
            first_name: string | null;
            last_name: string | null;
            /** @description Home pool */
            namespace: string;
            /** @description Home pool first, then pool tags */
            namespaces: string[];
            /** @enum {string} */
            status: "active" | "suspended" | "deleted";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            role_codes: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            joined_at: string;
        };
        PutMemberAnswer: {
            /** Format: uuid */
            id: string;
            email: string;
            email_verified: boolean;
            first_name: string | null;
            last_name: string | null;
            /** @description Home pool */
            namespace: string;
            /** @description Home pool first, then pool tags */
            namespaces: string[];
            /** @enum {string} */
            status: "active" | "suspended" | "deleted";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            role_codes: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            joined_at: string;
            /** @description Nobody has proven that this account is theirs: its address may belong to somebody else */
            warnings?: {
                /** @constant */
                code: "account_unverified";
            }[];
        };
        FellowMember: {
            /** Format: uuid */
            id: string;
            email: string;
            first_name: string | null;
            last_name: string | null;
            role_codes: string[];
        };
        CreatedInvitation: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organization_id: string;
            email: string | null;
            role_codes: string[];
            app_code: string | null;
            /** @description Whether accepting grants the app: a system_admin invited */
            grants_app: boolean;
            /** @enum {string} */
            status: "pending" | "accepted" | "expired";
            invited_by: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            expires_at: string;
            accepted_at: string | null;
            accepted_by: string | null;
            /** @description Shown this once; `token` and `code` are one value. Null in a dry run */
            token: string | null;
            /** @description Shown this once; `token` and `code` are one value. Null in a dry run */
            code: string | null;
        };
        Invitation: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organization_id: string;
            email: string | null;
            role_codes: string[];
            app_code: string | null;
            /** @description Whether accepting grants the app: a system_admin invited */
            grants_app: boolean;
            /** @enum {string} */
            status: "pending" | "accepted" | "expired";
            invited_by: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            expires_at: string;
            accepted_at: string | null;
            accepted_by: string | null;
        };
        Role: {
            code: string;
            name: string;
            /**
             * @description `global`: held by users as such; `org`: held by members of an organization, in it
             * @enum {string}
             */
            scope: "global" | "org";
            description: string | null;
            built_in: boolean;
            /**
             * @description Who gives and takes an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may
             * @enum {string}
             */
            assignable_by: "system_admin" | "org_admin";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
        };
        RolePermissions: {
            items: {
                code: string;
                service: string;
            }[];
        };
        ChangedRolePermissions: {
            items: {
                code: string;
                service: string;
            }[];
            /** @description Only when there are any: apps whose tokens pass AUTH_TOKEN_WARN_BYTES. Nothing is refused */
            warnings?: {
                /** @description Code of the app */
                app: string;
                /** @description How long its tokens will be, in scope `roles` those of the largest role */
                projected_token_bytes: number;
            }[];
        };
        UserRole: {
            code: string;
            name: string;
            /**
             * @description `global`: held by users as such; `org`: held by members of an organization, in it
             * @enum {string}
             */
            scope: "global" | "org";
            description: string | null;
            built_in: boolean;
            /**
             * @description Who gives and takes an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may
             * @enum {string}
             */
            assignable_by: "system_admin" | "org_admin";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            assigned_at: string;
        };
        GivenUserRole: {
            code: string;
            name: string;
            /**
             * @description `global`: held by users as such; `org`: held by members of an organization, in it
             * @enum {string}
             */
            scope: "global" | "org";
            description: string | null;
            built_in: boolean;
            /**
             * @description Who gives and takes an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may
             * @enum {string}
             */
            assignable_by: "system_admin" | "org_admin";
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            assigned_at: string;
            /** @description Nobody has proven that this account is theirs: its address may belong to somebody else */
            warnings?: {
                /** @constant */
                code: "account_unverified";
            }[];
        };
        Permission: {
            service: string;
            code: string;
            name: string;
            resource: string;
            action: string;
        };
        PermissionRegistration: {
            service: string;
            created: number;
            /** @description Those that got another name */
            updated: number;
            pruned: number;
            unchanged: number;
            /** @description What the service has now, by code */
            permissions: {
                code: string;
                name: string;
                resource: string;
                action: string;
            }[];
            /** @description With `dry_run`: the roles that would lose permissions, and which */
            roles?: {
                code: string;
                permissions: string[];
                /** @description Users who hold the role, in an organization too */
                user_count: number;
            }[];
            /** @description With `dry_run`: the users who hold any of these roles */
            user_count?: number;
            /** @description Only when there are any: apps whose tokens pass AUTH_TOKEN_WARN_BYTES. Nothing is refused */
            warnings?: {
                /** @description Code of the app */
                app: string;
                /** @description How long its tokens will be, in scope `roles` those of the largest role */
                projected_token_bytes: number;
            }[];
        };
        ServiceAccountWithToken: {
            /** Format: uuid */
            id: string;
            name: string;
            service: string;
            scopes: ("permissions:register" | "users:register_or_return" | "users:override" | "tokens:introspect" | "limits:exempt")[];
            /** @description Sorted. Every scope but `permissions:register` holds for these apps alone; a deleted app leaves the list for good */
            app_codes: string[];
            expires_at: string | null;
            /** @description Exact to a minute; null when it was never used */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
            /** @description The bearer token; shown this once. Null in a dry run */
            token: string | null;
        };
        ServiceAccount: {
            /** Format: uuid */
            id: string;
            name: string;
            service: string;
            scopes: ("permissions:register" | "users:register_or_return" | "users:override" | "tokens:introspect" | "limits:exempt")[];
            /** @description Sorted. Every scope but `permissions:register` holds for these apps alone; a deleted app leaves the list for good */
            app_codes: string[];
            expires_at: string | null;
            /** @description Exact to a minute; null when it was never used */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
        };
        SsoProvider: {
            /** Format: uuid */
            id: string;
            code: string;
            issuer: string;
            client_id: string;
            has_client_secret: boolean;
            scopes: string[];
            app_codes: string[];
            trusted_email_domains: string[];
            enabled: boolean;
            /** @description The redirect URI to register at the provider */
            callback_url: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            updated_at: string;
        };
        AuditEvent: {
            /** Format: uuid */
            id: string;
            /** @description The kind of event, such as `login.success` or `grant.revoked` */
            event: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            at: string;
            /** @description Why something failed; the caller may have been told less */
            reason: string | null;
            /** @description What its caller said, in `X-Audit-Reason` */
            audit_reason: string | null;
            /** @description Who did it */
            actor: {
                /**
                 * @description `system`: the service itself or its command line; `anonymous`: a caller without a bearer
                 * @enum {string}
                 */
                type: "user" | "service_account" | "system" | "anonymous";
                /** @description Null for `system` and `anonymous` */
                id: string | null;
            };
            /** @description Whom it is about */
            user_id: string | null;
            app_id: string | null;
            ip: string | null;
            user_agent: string | null;
            /** @description `X-Request-Id` of the request */
            request_id: string | null;
            /** @description How often it happened: more than once for refused logins that are counted in one event. The event is the first of them */
            count: number;
            /** @description What belongs to this kind of event, such as `before` and `after` of a change. Never a secret */
            details: {
                [key: string]: unknown;
            } | null;
        };
        RevocationFeed: {
            /** @description In the order of their cursors; at most 1,000 */
            items: components["schemas"]["Revocation"][];
            /** @description What to send as `since` next */
            cursor: number;
            /**
             * Format: uuid
             * @description Whose events these are: the id of the app that has the code of the assertion
             */
            app_id: string;
            /** @description Whether to ask again at once */
            has_more: boolean;
            /** @description `since` is of another database, which was restored or replaced: forget what came before; this is all that is live */
            reset: boolean;
        };
        Revocation: {
            cursor: number;
            /** @description Null with `min_iat`: the tokens of every user */
            user_id: string | null;
            /** @description Null: the tokens of every app */
            app_id: string | null;
            /** @description Not null: the tokens of this session (`sid`) have ended */
            session_id: string | null;
            /** @description Not null: tokens of this user whose `tv` is lower have ended */
            min_tv: number | null;
            /** @description Only with `form=2`: tokens of this app whose `iat`, in seconds, is lower have ended */
            min_iat?: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, whole milliseconds
             */
            at: string;
        };
        Introspection: {
            active: boolean;
            /** @constant */
            token_type?: "Bearer";
            /** @description Code of the app */
            client_id?: string;
            /** @description The user; the same as `uid` */
            sub?: string;
            /** @description The same as `email` */
            username?: string;
            /** @description `permissions`, joined by blanks */
            scope?: string;
            exp?: number;
        } & {
            [key: string]: unknown;
        };
        Consumer: {
            /**
             * Format: uuid
             * @description Of this service: one per database
             */
            service_id: string;
            app: {
                /** Format: uuid */
                id: string;
                code: string;
                /** @enum {string} */
                status: "active" | "inactive";
                /** @enum {string} */
                permission_scope: "services" | "roles";
                /**
                 * @description Which secret signs its tokens: the one that all apps share
                 * @enum {string}
                 */
                signing: "shared";
            };
            /** @description The secrets that this server accepts; the first one signs */
            kids: string[];
            /**
             * Format: date-time
             * @description By the clock of this server
             */
            time: string;
        };
        Secrets: {
            /**
             * Format: uuid
             * @description Of this service: one per database
             */
            service_id: string;
            /** @description Signs */
            current: {
                /** @description The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret */
                kid: string;
            };
            /** @description Accepted besides */
            previous: {
                /** @description The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret */
                kid: string;
            } | null;
            consumers: {
                app_code: string;
                /** @description A secret that consumers of this app accept; null for those that do not say */
                kid: string | null;
                /** @description Whether it is one of the two above */
                is_ours: boolean;
                /**
                 * Format: date-time
                 * @description When a consumer was last seen that accepts it; exact to a minute or so
                 */
                last_seen_at: string;
                /** @description When a consumer of this app was last seen that does not accept it; null for never */
                last_missing_at: string | null;
            }[];
        };
        Explanation: {
            /** @description The steps of a login, up to the one that refuses */
            steps: {
                /** @description The number of the step in the contract, section 4.5 */
                step: number;
                /** @enum {string} */
                name: "account_limit" | "app" | "user" | "account" | "password" | "two_factor" | "roles" | "access" | "tokens";
                ok: boolean;
                /** @description The error code that this step answers with */
                code?: string;
                /** @description What was found; of a refusal, also the command that mends it */
                detail?: string;
            }[];
            /** @description `granted`, or the code that a login with the right password would get */
            outcome: string;
            /** @description Of the access token that a login now would give; no such session exists */
            claims?: {
                /** Format: uuid */
                app_id?: string;
                app_code?: string;
                /** Format: uuid */
                uid: string;
                email: string;
                email_verified: boolean;
                first_name: string | null;
                last_name: string | null;
                /** Format: uuid */
                org_id?: string;
                org_slug?: string;
                namespace?: string;
                tv: number;
                /** Format: uuid */
                sid: string;
                iss: string;
                aud: string;
                exp: number;
                nbf: number;
                iat: number;
                /** Format: uuid */
                jti: string;
                roles: string[];
                permissions: string[];
            };
            /** @description The length of that token */
            token_bytes?: number;
        };
    };
    responses: {
        /** @description `validation_failed` */
        validation_failed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `token_expired`, `token_invalid`, `token_missing`, `token_revoked` */
        "token_expired.token_invalid.token_missing.token_revoked": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `admin_app_not_allowed`, `system_admin_required` */
        "admin_app_not_allowed.system_admin_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unavailable` */
        unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_code_required`, `invalid_invitation`, `invalid_json`, `validation_failed` */
        "app_code_required.invalid_invitation.invalid_json.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_credentials`, `invalid_two_factor_code`, `token_expired`, `token_invalid`, `token_missing`, `token_revoked`, `two_factor_required` */
        "invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked.two_factor_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] | components["schemas"]["TwoFactorRequired"];
            };
        };
        /** @description `account_suspended`, `admin_app_not_allowed`, `app_access_denied`, `app_inactive`, `auth_method_not_allowed`, `email_domain_not_allowed`, `email_unverified`, `organization_sign_up_closed`, `scope_required`, `service_caller_required`, `sign_up_closed` */
        "account_suspended.admin_app_not_allowed.app_access_denied.app_inactive.auth_method_not_allowed.email_domain_not_allowed.email_unverified.organization_sign_up_closed.scope_required.service_caller_required.sign_up_closed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_not_found` */
        app_not_found: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `user_exists` */
        user_exists: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `payload_too_large` */
        payload_too_large: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unsupported_media_type` */
        unsupported_media_type: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `account_locked` */
        account_locked: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `rate_limited` */
        rate_limited: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_code_required`, `invalid_json`, `validation_failed` */
        "app_code_required.invalid_json.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_credentials`, `invalid_two_factor_code`, `two_factor_required` */
        "invalid_credentials.invalid_two_factor_code.two_factor_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] | components["schemas"]["TwoFactorRequired"];
            };
        };
        /** @description `account_suspended`, `app_access_denied`, `app_inactive`, `email_unverified`, `organization_membership_required` */
        "account_suspended.app_access_denied.app_inactive.email_unverified.organization_membership_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_json`, `validation_failed` */
        "invalid_json.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_refresh_token`, `refresh_token_reused` */
        "invalid_refresh_token.refresh_token_reused": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_credentials`, `invalid_two_factor_code`, `token_expired`, `token_invalid`, `token_missing`, `token_revoked` */
        "invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `fresh_login_required` */
        fresh_login_required: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `last_system_admin` */
        last_system_admin: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_credentials`, `token_expired`, `token_invalid`, `token_missing`, `token_revoked` */
        "invalid_credentials.token_expired.token_invalid.token_missing.token_revoked": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_access_denied`, `email_unverified`, `organization_membership_required` */
        "app_access_denied.email_unverified.organization_membership_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_json`, `invalid_token`, `validation_failed` */
        "invalid_json.invalid_token.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_inactive` */
        app_inactive: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_credentials` */
        invalid_credentials: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `email_exists_in_pool` */
        email_exists_in_pool: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_two_factor_code`, `two_factor_required` */
        "invalid_two_factor_code.two_factor_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] | components["schemas"]["TwoFactorRequired"];
            };
        };
        /** @description `account_suspended`, `app_access_denied`, `app_inactive` */
        "account_suspended.app_access_denied.app_inactive": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_code_required`, `validation_failed` */
        "app_code_required.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_inactive`, `auth_method_not_allowed`, `sso_provider_disabled` */
        "app_inactive.auth_method_not_allowed.sso_provider_disabled": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_not_found`, `not_found` */
        "app_not_found.not_found": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_sso_state`, `validation_failed` */
        "invalid_sso_state.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `not_found` */
        not_found: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `auth_method_not_allowed`, `fresh_login_required`, `sso_provider_disabled` */
        "auth_method_not_allowed.fresh_login_required.sso_provider_disabled": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_json`, `invalid_sso_code`, `validation_failed` */
        "invalid_json.invalid_sso_code.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_two_factor_code`, `token_expired`, `token_invalid`, `token_missing`, `token_revoked`, `two_factor_required` */
        "invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked.two_factor_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"] | components["schemas"]["TwoFactorRequired"];
            };
        };
        /** @description `account_suspended`, `app_access_denied`, `app_inactive`, `auth_method_not_allowed`, `email_domain_not_allowed`, `email_unverified`, `sign_up_closed`, `sso_email_missing`, `sso_provider_disabled` */
        "account_suspended.app_access_denied.app_inactive.auth_method_not_allowed.email_domain_not_allowed.email_unverified.sign_up_closed.sso_email_missing.sso_provider_disabled": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `identity_in_use`, `link_required` */
        "identity_in_use.link_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `two_factor_active` */
        two_factor_active: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `two_factor_active`, `two_factor_not_set_up` */
        "two_factor_active.two_factor_not_set_up": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `two_factor_not_set_up` */
        two_factor_not_set_up: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `last_login_method` */
        last_login_method: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_code_taken`, `built_in` */
        "app_code_taken.built_in": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `code_immutable`, `invalid_json`, `validation_failed` */
        "code_immutable.invalid_json.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `built_in`, `last_system_admin` */
        "built_in.last_system_admin": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_in_use`, `built_in`, `last_system_admin` */
        "app_in_use.built_in.last_system_admin": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `webhook_not_enabled` */
        webhook_not_enabled: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `delivery_erased`, `delivery_pending`, `webhook_not_enabled` */
        "delivery_erased.delivery_pending.webhook_not_enabled": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `email_exists_in_pool`, `last_system_admin` */
        "email_exists_in_pool.last_system_admin": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `organization_slug_taken` */
        organization_slug_taken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `organization_in_use` */
        organization_in_use: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `organization_admin_required` */
        organization_admin_required: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `last_organization_admin` */
        last_organization_admin: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `organization_admin_required`, `system_admin_required` */
        "organization_admin_required.system_admin_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `email_unverified`, `organization_admin_required` */
        "email_unverified.organization_admin_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_invitation`, `invalid_json`, `validation_failed` */
        "invalid_invitation.invalid_json.validation_failed": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `already_member` */
        already_member: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `role_code_taken` */
        role_code_taken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `built_in` */
        built_in: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `built_in`, `role_in_use` */
        "built_in.role_in_use": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `account_unverified` */
        account_unverified: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `admin_app_not_allowed`, `scope_required`, `service_caller_required`, `service_mismatch`, `service_reserved` */
        "admin_app_not_allowed.scope_required.service_caller_required.service_mismatch.service_reserved": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `permission_owned_by_other_service`, `prune_limit` */
        "permission_owned_by_other_service.prune_limit": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `service_account_name_taken` */
        service_account_name_taken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `sso_provider_code_taken` */
        sso_provider_code_taken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `sso_provider_in_use` */
        sso_provider_in_use: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `token_expired`, `token_invalid`, `token_missing` */
        "token_expired.token_invalid.token_missing": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_inactive`, `scope_required` */
        "app_inactive.scope_required": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `app_not_found`, `token_expired`, `token_invalid`, `token_missing` */
        "consumer_app_not_found.token_expired.token_invalid.token_missing": {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the process serves; asks no database */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["validation_failed"];
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the server should get requests; 503 with the failing check otherwise */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            400: components["responses"]["validation_failed"];
            /** @description Whether the server should get requests; 503 with the failing check otherwise */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
        };
    };
    getAdminSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings that tell what the service lets others do; no secret, and nothing of its surroundings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settings"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthRegister: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Register"];
            };
        };
        responses: {
            /** @description Register a user through an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registration"];
                };
            };
            /** @description Register a user through an app */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registration"];
                };
            };
            400: components["responses"]["app_code_required.invalid_invitation.invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked.two_factor_required"];
            403: components["responses"]["account_suspended.admin_app_not_allowed.app_access_denied.app_inactive.auth_method_not_allowed.email_domain_not_allowed.email_unverified.organization_sign_up_closed.scope_required.service_caller_required.sign_up_closed"];
            404: components["responses"]["app_not_found"];
            409: components["responses"]["user_exists"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Log in through an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.two_factor_required"];
            403: components["responses"]["account_suspended.app_access_denied.app_inactive.email_unverified.organization_membership_required"];
            404: components["responses"]["app_not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthRefresh: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Refresh"];
            };
        };
        responses: {
            /** @description Exchange a refresh token for new tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_refresh_token.refresh_token_reused"];
            403: components["responses"]["account_suspended.app_access_denied.app_inactive.email_unverified.organization_membership_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthLogout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Logout"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.validation_failed"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAuthMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show the own account */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAuthMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteOwnAccount"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            409: components["responses"]["last_system_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAuthMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateProfile"];
            };
        };
        responses: {
            /** @description Change the names of the own account */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthPasswordChange: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePassword"];
            };
        };
        responses: {
            /** @description Change the own password */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["app_access_denied.email_unverified.organization_membership_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetPassword"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailResend: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailRequest"];
            };
        };
        responses: {
            /** @description Ask for another mail that verifies the address */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            403: components["responses"]["app_inactive"];
            404: components["responses"]["app_not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthPasswordForgot: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailRequest"];
            };
        };
        responses: {
            /** @description Ask for a mail to set a new password */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            403: components["responses"]["app_inactive"];
            404: components["responses"]["app_not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthMagicLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailRequest"];
            };
        };
        responses: {
            /** @description Ask for a mail to log in with */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            403: components["responses"]["app_inactive"];
            404: components["responses"]["app_not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailVerify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyEmail"];
            };
        };
        responses: {
            /** @description Verify an e-mail address with the token of a mail */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        user: components["schemas"]["User"];
                    };
                };
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            401: components["responses"]["invalid_credentials"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailDisown: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisownEmail"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailChange: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeEmail"];
            };
        };
        responses: {
            /** @description Ask for another e-mail address */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailChangeConfirm: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmEmailChange"];
            };
        };
        responses: {
            /** @description Change the e-mail address with the token of a mail */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        user: components["schemas"]["User"];
                    };
                };
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            401: components["responses"]["invalid_credentials"];
            409: components["responses"]["email_exists_in_pool"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthEmailChangeUndo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UndoEmailChange"];
            };
        };
        responses: {
            /** @description Take a change of the e-mail address back with the token of the notice */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        user: components["schemas"]["User"];
                    };
                };
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            409: components["responses"]["email_exists_in_pool"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthMagicLinkConsume: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConsumeMagicLink"];
            };
        };
        responses: {
            /** @description Log in with the token of a mail */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            400: components["responses"]["invalid_json.invalid_token.validation_failed"];
            401: components["responses"]["invalid_two_factor_code.two_factor_required"];
            403: components["responses"]["account_suspended.app_access_denied.app_inactive"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAuthSsoByProviderStart: {
        parameters: {
            query: {
                app_code?: string;
                /** @description One of the `allowed_redirect_urls` of the app */
                redirect_url: string;
                /** @description PKCE, S256 */
                code_challenge: string;
                code_challenge_method?: string;
                /** @description Comes back as it is */
                state: string;
            };
            header?: never;
            path: {
                /** @description Code of the provider */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A redirect: `Location` says where to */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["app_code_required.validation_failed"];
            403: components["responses"]["app_inactive.auth_method_not_allowed.sso_provider_disabled"];
            404: components["responses"]["app_not_found.not_found"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAuthSsoByProviderCallback: {
        parameters: {
            query: {
                state: string;
                code?: string;
                error?: string;
                iss?: string;
            };
            header?: never;
            path: {
                /** @description Code of the provider */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A redirect: `Location` says where to */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_sso_state.validation_failed"];
            403: components["responses"]["app_inactive.auth_method_not_allowed.sso_provider_disabled"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthIdentitiesLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkIdentity"];
            };
        };
        responses: {
            /** @description Begin to link the own account with a provider */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityLinkStart"];
                };
            };
            400: components["responses"]["app_code_required.invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["auth_method_not_allowed.fresh_login_required.sso_provider_disabled"];
            404: components["responses"]["not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthSsoToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExchangeSsoCode"];
            };
        };
        responses: {
            /** @description Exchange the code of a third-party login for tokens, or that of a link for the identity */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"] | components["schemas"]["Identity"];
                };
            };
            400: components["responses"]["invalid_json.invalid_sso_code.validation_failed"];
            401: components["responses"]["invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked.two_factor_required"];
            403: components["responses"]["account_suspended.app_access_denied.app_inactive.auth_method_not_allowed.email_domain_not_allowed.email_unverified.sign_up_closed.sso_email_missing.sso_provider_disabled"];
            409: components["responses"]["identity_in_use.link_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuth2faSetup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetUpTwoFactor"];
            };
        };
        responses: {
            /** @description Get a seed for an authenticator app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TwoFactorSetUp"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            409: components["responses"]["two_factor_active"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuth2faActivate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActivateTwoFactor"];
            };
        };
        responses: {
            /** @description Turn the second factor on with a code of the authenticator app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            409: components["responses"]["two_factor_active.two_factor_not_set_up"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuth2faDisable: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisableTwoFactor"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            409: components["responses"]["two_factor_not_set_up"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAuthSessions: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the own sessions that are alive, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Session"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAuthSessionsBySessionId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthLogoutAll: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsersByUserIdLogout: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAuthIdentities: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the providers that the own account is linked with, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Identity"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminUsersByUserIdIdentities: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the providers that a user is linked with, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Identity"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminUsersByUserIdIdentitiesByIdentityId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
                identityId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAuthIdentitiesByIdentityId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                identityId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UnlinkIdentity"];
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["invalid_credentials.invalid_two_factor_code.token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["fresh_login_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_login_method"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            423: components["responses"]["account_locked"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminApps: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                status?: "active" | "inactive";
                /** @description Literal substring, without ASCII case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List apps, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["App"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminApps: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateApp"];
            };
        };
        responses: {
            /** @description Create an app */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpdatedApp"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["app_code_taken.built_in"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminAppsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownApp"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminAppsByAppId: {
        parameters: {
            query?: {
                force?: boolean;
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["app_in_use.built_in.last_system_admin"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminAppsByAppId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateApp"];
            };
        };
        responses: {
            /** @description Change settings of an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpdatedApp"];
                };
            };
            400: components["responses"]["code_immutable.invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in.last_system_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsersByUserIdAppsByAppId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantAccess"];
            };
        };
        responses: {
            /** @description Grant a user access to an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GivenGrant"];
                };
            };
            /** @description Grant a user access to an app */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GivenGrant"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminUsersByUserIdAppsByAppId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoke a user's access to an app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_system_admin"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminUsersByUserIdApps: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the grants of a user, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Grant"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminAppsByAppIdUsers: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the grants of an app with their users, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: {
                            /** Format: uuid */
                            user_id: string;
                            /** Format: uuid */
                            app_id: string;
                            app_code: string;
                            /** @enum {string} */
                            status: "active" | "revoked";
                            /**
                             * @description `status`, or `expired` for an active grant whose `expires_at` has passed
                             * @enum {string}
                             */
                            effective: "active" | "revoked" | "expired";
                            /** @enum {string} */
                            granted_via: "admin" | "auto" | "link" | "invitation" | "import";
                            /** @description The user or service account; null where the service granted by its settings */
                            granted_by: string | null;
                            reason: string | null;
                            /**
                             * Format: date-time
                             * @description ISO 8601, UTC, whole milliseconds
                             */
                            granted_at: string;
                            expires_at: string | null;
                            revoked_at: string | null;
                            user: components["schemas"]["User"];
                        }[];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminAppsByAppIdWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                status?: "pending" | "delivered" | "failed";
            };
            header?: never;
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the deliveries of an app’s webhooks, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["WebhookDelivery"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminAppsByAppIdWebhooksTest: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                /** @description UUID or code of the app */
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestWebhooks"];
            };
        };
        responses: {
            /** @description Fire a sample event at an app’s webhooks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPlan"];
                };
            };
            /** @description Fire a sample event at an app’s webhooks */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["webhook_not_enabled"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminWebhookDeliveriesByDeliveryIdRedeliver: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Send a finished delivery again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPlan"];
                };
            };
            /** @description Send a finished delivery again */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["delivery_erased.delivery_pending.webhook_not_enabled"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminUsers: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                email?: string;
                /** @description Home pool or pool tag */
                namespace?: string;
                /** @description UUID or code of an app that the user may enter */
                app?: string;
                role?: string;
                status?: "active" | "suspended" | "deleted";
                /** @description Literal substring, without ASCII case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Search users, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["User"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsers: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUser"];
            };
        };
        responses: {
            /** @description Create a user */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetail"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["email_exists_in_pool"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminUsersByUserId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show a user with pools, apps, roles and organizations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetail"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminUsersByUserId: {
        parameters: {
            query?: {
                /** @description Also blank e-mail and names everywhere; takes a user who is deleted already, too */
                erase?: boolean;
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Delete a user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasurePlan"];
                };
            };
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_system_admin"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminUsersByUserId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateUser"];
            };
        };
        responses: {
            /** @description Change the names, the e-mail or the state of a user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetail"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["email_exists_in_pool.last_system_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsersImport: {
        parameters: {
            query?: {
                /** @description Answer the same and write nothing */
                dry_run?: boolean;
                /** @description Claim unproven accounts: remove what they were registered with and apply the line as for a new user */
                claim_unverified?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description At most 10 MiB */
        requestBody?: {
            content: {
                "application/x-ndjson": components["schemas"]["ImportedUser"];
            };
        };
        responses: {
            /** @description Import users with their password hashes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserImport"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminLockouts: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List what failed logins have locked, or count towards a lock */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Lockout"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsersByUserIdUnlock: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminNamespaces: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List pools by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Pool"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminNamespacesByNamespaceCollisions: {
        parameters: {
            query: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                /** @description The other pool */
                with: string;
            };
            header?: never;
            path: {
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the e-mails that would meet if one app read both pools */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Collision"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    putAdminUsersByUserIdNamespace: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveUser"];
            };
        };
        responses: {
            /** @description Move a user to another home pool */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["email_exists_in_pool.last_system_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminUsersByUserIdNamespaces: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePoolTags"];
            };
        };
        responses: {
            /** @description Add and remove pool tags of a user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPools"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["email_exists_in_pool.last_system_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminUsersByUserId2fa: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminOrganizations: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                /** @description Literal substring, without ASCII case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List organizations, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Organization"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminOrganizations: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateOrganization"];
            };
        };
        responses: {
            /** @description Create an organization */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["organization_slug_taken"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminOrganizationsByOrganizationId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show an organization */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminOrganizationsByOrganizationId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["organization_in_use"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminOrganizationsByOrganizationId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateOrganization"];
            };
        };
        responses: {
            /** @description Change the name or slug of an organization */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["organization_slug_taken"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminOrganizationsByOrganizationIdMembers: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the members of an organization, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Member"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    putAdminOrganizationsByOrganizationIdMembersByUserId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutMember"];
            };
        };
        responses: {
            /** @description Make a user a member, or replace a member's roles */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutMemberAnswer"];
                };
            };
            /** @description Make a user a member, or replace a member's roles */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutMemberAnswer"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminOrganizationsByOrganizationIdMembersByUserId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getOrganizationsByOrganizationIdMembers: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the members of an organization, newest first, as its org_admin */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["FellowMember"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["organization_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    putOrganizationsByOrganizationIdMembersByUserId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutMember"];
            };
        };
        responses: {
            /** @description Replace the roles of a member, as its org_admin */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FellowMember"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["organization_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_organization_admin"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteOrganizationsByOrganizationIdMembersByUserId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["organization_admin_required.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_organization_admin"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminOrganizationsByOrganizationIdInvitations: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the invitations of an organization, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Invitation"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminOrganizationsByOrganizationIdInvitations: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateInvitation"];
            };
        };
        responses: {
            /** @description Invite to an organization */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedInvitation"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminOrganizationsByOrganizationIdInvitationsByInvitationId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                organizationId: string;
                invitationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getOrganizationsByOrganizationIdInvitations: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the invitations of an organization, newest first, as its org_admin */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Invitation"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["organization_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postOrganizationsByOrganizationIdInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateInvitation"];
            };
        };
        responses: {
            /** @description Invite to an organization, as its org_admin */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedInvitation"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["email_unverified.organization_admin_required"];
            404: components["responses"]["not_found"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteOrganizationsByOrganizationIdInvitationsByInvitationId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
                invitationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["organization_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthInvitationsAccept: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInvitation"];
            };
        };
        responses: {
            /** @description Accept an invitation with the own account */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        organization: {
                            /** Format: uuid */
                            id: string;
                            slug: string;
                            name: string;
                            role_codes: string[];
                        };
                    };
                };
            };
            400: components["responses"]["invalid_invitation.invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            409: components["responses"]["already_member"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminRoles: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List roles, by code */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Role"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminRoles: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRole"];
            };
        };
        responses: {
            /** @description Create a role */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["role_code_taken"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminRolesByRoleCode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show a role */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminRolesByRoleCode: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in.role_in_use"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminRolesByRoleCode: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateRole"];
            };
        };
        responses: {
            /** @description Change the name or description of a role */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            400: components["responses"]["code_immutable.invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminRolesByRoleCodePermissions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the permissions of a role, by code */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RolePermissions"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    putAdminRolesByRoleCodePermissions: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        /** @description At most 2 MiB */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PermissionCodes"];
            };
        };
        responses: {
            /** @description Replace the permissions of a role */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedRolePermissions"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminRolesByRoleCodePermissions: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                roleCode: string;
            };
            cookie?: never;
        };
        /** @description At most 2 MiB */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PermissionCodes"];
            };
        };
        responses: {
            /** @description Add permissions to a role */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedRolePermissions"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminRolesByRoleCodePermissionsByPermission: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                roleCode: string;
                permission: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["built_in"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminUsersByUserIdRoles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the global roles of a user, by code */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["UserRole"][];
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminUsersByUserIdRoles: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignRole"];
            };
        };
        responses: {
            /** @description Give a user a global role */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GivenUserRole"];
                };
            };
            /** @description Give a user a global role */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GivenUserRole"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["account_unverified"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminUsersByUserIdRolesByRoleCode: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                userId: string;
                roleCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["last_system_admin"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminPermissions: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                service?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List permissions, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Permission"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminPermissionsRegister: {
        parameters: {
            query?: {
                /** @description Tells what would happen and writes nothing */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description At most 10 MiB */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterPermissions"];
            };
        };
        responses: {
            /** @description Declare all permissions of a service */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionRegistration"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.scope_required.service_caller_required.service_mismatch.service_reserved"];
            409: components["responses"]["permission_owned_by_other_service.prune_limit"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminServiceAccounts: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                service?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List service accounts, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ServiceAccount"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminServiceAccounts: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateServiceAccount"];
            };
        };
        responses: {
            /** @description Create a service account */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccountWithToken"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["service_account_name_taken"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminServiceAccountsByServiceAccountIdRotate: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                serviceAccountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Give a service account another token */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccountWithToken"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminServiceAccountsByServiceAccountId: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                serviceAccountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminSsoProviders: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List providers, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SsoProvider"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    postAdminSsoProviders: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSsoProvider"];
            };
        };
        responses: {
            /** @description Set up a provider */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            409: components["responses"]["sso_provider_code_taken"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminSsoProvidersByProviderCode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                providerCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show a provider */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    deleteAdminSsoProvidersByProviderCode: {
        parameters: {
            query?: {
                /** @description Unlink its users */
                force?: boolean;
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                providerCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["sso_provider_in_use"];
            503: components["responses"]["unavailable"];
        };
    };
    patchAdminSsoProvidersByProviderCode: {
        parameters: {
            query?: {
                /** @description Answers what the call would answer, and changes, sends and reveals nothing. The reply carries `X-Dry-Run: true` */
                dry_run?: boolean;
            };
            header?: {
                /** @description Why, in percent-encoded UTF-8 of at most 500 characters. Kept with the audit events of the call */
                "x-audit-reason"?: string;
            };
            path: {
                providerCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateSsoProvider"];
            };
        };
        responses: {
            /** @description Change a provider */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
            400: components["responses"]["code_immutable.invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            409: components["responses"]["sso_provider_in_use"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminAudit: {
        parameters: {
            query?: {
                /** @description Entries per page, 1 to 200; 50 unless told */
                limit?: number;
                /** @description `next_cursor` of the page before */
                cursor?: string;
                /** @description The kind of event, whole: `login.failed` */
                event?: string;
                /** @description Whom the event is about */
                user_id?: string;
                /** @description UUID or code of an app; one that was deleted is found by its UUID alone */
                app_id?: string;
                /** @description Events about the users with this e-mail, and refused logins with it */
                email?: string;
                /** @description The address that a request came from, as events show it */
                ip?: string;
                /** @description The user or service account that did it */
                actor_id?: string;
                /** @description Events at this moment or later; ISO 8601 */
                since?: string;
                /** @description Events before this moment; ISO 8601 */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List audit events, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AuditEvent"][];
                        next_cursor: string | null;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminAuditById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Show an audit event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEvent"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getRevocations: {
        parameters: {
            query?: {
                /** @description `cursor` of the answer before; all that is live without one */
                since?: number;
                /** @description `2` for a reader that also understands events about an app, with `min_iat` and without a user */
                form?: "1" | "2";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What local validators of an app have to learn, since a cursor */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevocationFeed"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing"];
            503: components["responses"]["unavailable"];
        };
    };
    getRevocationsStream: {
        parameters: {
            query?: {
                /** @description `cursor` of the answer before; all that is live without one */
                since?: number;
                /** @description `2` for a reader that also understands events about an app, with `min_iat` and without a user */
                form?: "1" | "2";
            };
            header?: {
                /** @description `id` of the last event seen; goes before `since` */
                "last-event-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The same as server-sent events, each as it happens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing"];
            503: components["responses"]["unavailable"];
        };
    };
    postAuthIntrospect: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Introspect"];
                "application/x-www-form-urlencoded": components["schemas"]["Introspect"];
            };
        };
        responses: {
            /** @description Whether an access token is alive, and its claims (RFC 7662) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Introspection"];
                };
            };
            400: components["responses"]["invalid_json.validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing"];
            403: components["responses"]["app_inactive.scope_required"];
            413: components["responses"]["payload_too_large"];
            415: components["responses"]["unsupported_media_type"];
            503: components["responses"]["unavailable"];
        };
    };
    getConsumer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What this service takes the caller for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Consumer"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["consumer_app_not_found.token_expired.token_invalid.token_missing"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminSecrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Which signing secrets this server and the consumers of each app accept */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secrets"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            503: components["responses"]["unavailable"];
        };
    };
    getAdminExplain: {
        parameters: {
            query?: {
                /** @description The address that would log in; either this or `user_id` */
                email?: string;
                /** @description The user who would log in; either this or `email` */
                user_id?: string;
                /** @description UUID or code; left out, a login without an app is explained */
                app?: string;
                /** @description As in the login */
                organization_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Explain what a login would answer, and why */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["validation_failed"];
            401: components["responses"]["token_expired.token_invalid.token_missing.token_revoked"];
            403: components["responses"]["admin_app_not_allowed.system_admin_required"];
            404: components["responses"]["not_found"];
            503: components["responses"]["unavailable"];
        };
    };
    getOpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["validation_failed"];
        };
    };
}

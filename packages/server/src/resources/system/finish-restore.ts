import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../../lib/access-token.ts'
import { AppKey } from '../../models/app-key.ts'
import { AuthorizationCode } from '../../models/authorization-code.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { DeviceCode } from '../../models/device-code.ts'
import { Invitation } from '../../models/invitation.ts'
import { MailToken } from '../../models/mail-token.ts'
import { Service } from '../../models/service.ts'
import { Session } from '../../models/session.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { recordEvent, systemActor } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/catalog.ts'
import { restartFeeds } from '../feeds/feeds.ts'

/** How many of each were ended. */
export interface FinishedRestore {
  sessions: number
  links: number
  invitations: number
  ownKeys: RestoredKeys
}

/** The keys of the apps that do not share one, by code. Two databases have the same text for an app if its keys are the same. */
export type OwnKeys = ReadonlyMap<string, string>

interface RestoredKeys {
  /** Whether the replaced database was there to compare with. */
  isCompared: boolean
  /** The apps whose keys differ from those of the replaced database; without it, all apps with own keys. */
  codes: string[]
}

/**
 * Must follow the restore of a backup. The database no longer knows what was ended, spent or withdrawn since the backup, so
 * everything that a client may hold ends: access tokens, sessions with their refresh tokens, mail links, open invitations,
 * unfinished third-party logins, browser sessions, and the trust of browsers. Consumers forget the revocations that they know. A
 * second run ends what was issued meanwhile, and is harmless otherwise. `replaced`: the own keys of the database that was replaced,
 * if it can be read.
 */
export async function finishRestore(deps: Deps<Pool>, replaced?: OwnKeys): Promise<FinishedRestore> {
  return transaction(deps, async (deps) => {
    const now = deps.clock()
    const ended = {
      sessions: await Session.query(deps.db).whereNull('ended_at').patch({ ended_at: now, ended_reason: 'service.restored' }),
      links: await MailToken.list(deps.db, { spent_at: null }).delete(),
      invitations: await Invitation.list(deps.db, { accepted_at: null }).where('expires_at', '>', now).patch({ expires_at: now }),
    }
    await SsoLogin.query(deps.db).delete()
    await BrowserSession.update(deps.db, { ended_at: null }, { ended_at: now, ended_reason: 'service.restored' })
    await AuthorizationCode.query(deps.db).delete()
    await DeviceCode.query(deps.db).delete()
    await TrustedBrowser.query(deps.db).delete()
    await renewCatalog(deps)
    const minIat = await Service.raiseMinIat(deps.db, { now, leadSeconds: CLOCK_TOLERANCE_SECONDS })
    await recordEvent(deps, { event: 'service.restored', actor: systemActor, details: { ...ended, min_iat: minIat } })
    await restartFeeds(deps, minIat)
    return { ...ended, ownKeys: compareKeys(await readOwnKeys(deps), replaced) }
  })
}

export async function readOwnKeys({ db, clock }: Deps): Promise<OwnKeys> {
  const apps = await AppKey.listAll(db, clock())
  return new Map(apps.map(({ code, keys }) => [code, JSON.stringify(keys.map(({ stage, secret_box }) => [stage, secret_box]))]))
}

/** An app that was created or deleted meanwhile is in one of the two databases alone, and counts as changed. */
function compareKeys(restored: OwnKeys, replaced: OwnKeys | undefined): RestoredKeys {
  const codes = [...new Set([...restored.keys(), ...(replaced?.keys() ?? [])])].sort()
  return {
    isCompared: replaced !== undefined,
    codes: codes.filter((code) => !replaced || restored.get(code) !== replaced.get(code)),
  }
}

import type { Deps } from '../../deps.ts'
import { projectTokenBytes } from '../../lib/token-size.ts'
import { App, type TokenSettings } from '../../models/app.ts'
import { type MeasuredCodes, Permission } from '../../models/permission.ts'
import { CORE_SERVICE } from './list-token-permissions.ts'

/** An app whose tokens exceed AUTH_TOKEN_WARN_BYTES: proxies and consumers refuse a request whose headers are too long. */
export interface TokenSizeWarning {
  app: string
  projected_token_bytes: number
}

/**
 * The touched apps whose tokens are too long, by code. For an app of scope `services`, every permission of its services counts;
 * for scope `roles`, those of its largest single role. `planned` replaces what its service has declared.
 */
export async function warnOfTokenSize(
  deps: Deps,
  isTouched: (app: TokenSettings) => boolean,
  planned?: MeasuredCodes,
): Promise<TokenSizeWarning[]> {
  const apps = (await App.listTokenSettings(deps.db)).filter(isTouched)
  if (apps.length === 0) return []
  const services = [...new Set([CORE_SERVICE, ...apps.flatMap((app) => app.service_codes)])]
  const present = await Permission.measure(deps.db, services)
  const declared = planned ? [...present.filter(({ service }) => service !== planned.service), planned] : present
  const held = apps.some(isNarrowed) ? await Permission.measureHeld(deps.db, services) : []
  return apps.flatMap((app) => {
    const codes = isNarrowed(app) ? largestRole(app, declared, held) : totalOf(app, declared)
    const bytes = projectTokenBytes({ appCode: app.code, issuer: deps.config.issuer, codes })
    return bytes > deps.config.tokenWarnBytes ? [{ app: app.code, projected_token_bytes: bytes }] : []
  })
}

/** The `warnings` member of an answer, left out if there are none. */
export function tokenSizeMember(warnings: readonly TokenSizeWarning[]): { warnings?: TokenSizeWarning[] } {
  return warnings.length > 0 ? { warnings: [...warnings] } : {}
}

function isNarrowed({ permission_scope }: TokenSettings): boolean {
  return permission_scope === 'roles'
}

type Codes = Pick<MeasuredCodes, 'count' | 'characters'>

/** The sum over `core` and the services of the app. */
function totalOf({ service_codes }: TokenSettings, measured: readonly MeasuredCodes[]): Codes {
  return sum(measured.filter(({ service }) => service === CORE_SERVICE || service_codes.includes(service)))
}

function largestRole(app: TokenSettings, declared: readonly MeasuredCodes[], held: readonly MeasuredCodes[]): Codes {
  const core = sum(declared.filter(({ service }) => service === CORE_SERVICE))
  const ofServices = held.filter(({ service }) => service !== CORE_SERVICE)
  const codes = new Set(ofServices.map(({ role_code }) => role_code))
  const roles = [...codes].map((code) =>
    totalOf(
      app,
      ofServices.filter(({ role_code }) => role_code === code),
    ),
  )
  const largest = roles.reduce((most, role) => (role.characters > most.characters ? role : most), { count: 0, characters: 0 })
  return sum([core, largest])
}

function sum(parts: readonly Codes[]): Codes {
  return {
    count: parts.reduce((total, { count }) => total + count, 0),
    characters: parts.reduce((total, { characters }) => total + characters, 0),
  }
}

import type { Deps } from '../../deps.ts'
import { App } from '../../models/app.ts'
import { AppKey } from '../../models/app-key.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { SigningKey } from '../../models/signing-key.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { boxesOf } from '../audit/keys-of-chain.ts'

export interface Unopenable {
  what: string
  count: number
}

/**
 * Counts what is sealed under a key that is no longer configured: seeds of second factors, secrets of webhooks, apps and
 * providers, and keys of the audit and of ID tokens.
 */
export async function countUnopenable(deps: Deps): Promise<Unopenable[]> {
  const { db, secretBox } = deps
  const seeds = await SecondFactor.countByKey(db)
  const apps = await App.listWebhooks(db)
  const providers = await SsoProvider.listSecretBoxes(db)
  const appKeys = await AppKey.listSecretBoxes(db)
  const signingKeys = await SigningKey.listBoxes(db)
  const chain = await AuditChain.find(db)
  const isLost = (box: string | null) => box !== null && !secretBox.hasKeyOf(box)
  const found = [
    { what: 'second factors', count: seeds.filter(({ box }) => isLost(box)).reduce((sum, { count }) => sum + count, 0) },
    {
      what: 'webhook secrets',
      count: apps.flatMap(({ webhooks }) => webhooks).filter(({ secret_box }) => isLost(secret_box)).length,
    },
    { what: 'audit keys', count: Object.values(chain ? boxesOf(chain) : {}).filter(isLost).length },
    { what: 'app keys', count: appKeys.filter(({ secret_box }) => isLost(secret_box)).length },
    { what: 'keys of ID tokens', count: signingKeys.filter(({ private_box }) => isLost(private_box)).length },
    { what: 'provider secrets', count: providers.filter(({ client_secret_box }) => isLost(client_secret_box)).length },
  ]
  return found.filter(({ count }) => count > 0)
}

import type { Config } from './config.ts'
import { nodePlatform } from './node-platform.ts'

/** What a consumer shows to the service (decisions 6): a JWT that lives for a minute, under a key of its own. */
export async function signAssertion(secret: string, { secrets, appCode, now }: Config): Promise<string> {
  const { keyId, encode, signAsConsumer } = nodePlatform() ?? (await import('./web-platform.ts')).webPlatform
  const header = { alg: 'HS256', typ: 'consumer+jwt', kid: await keyId(secret) }
  // Half of its minute lies behind, for the clock of the service may be ahead or behind.
  const iat = Math.floor(now() / 1000) - 30
  const claims = { sub: appCode, iat, exp: iat + 60, kids: await Promise.all(secrets.map((each) => keyId(each))) }
  const signed = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(claims))}`
  return `${signed}.${await signAsConsumer(secret, signed)}`
}

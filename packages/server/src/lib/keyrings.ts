import { hash, hkdfSync, type KeyObject } from 'node:crypto'
import { CONSUMER_KEY_BYTES, CONSUMER_KEY_INFO, keyIdOf } from '@gatehouse/sdk/protocol'
import { keyOf } from './hs256.ts'

/** The keys derived from a secret: one for access tokens, and one for assertions of consumers that hold it. */
export interface KeyringKey {
  id: string
  key: KeyObject
  assertionKey: KeyObject
}

/** The keys of an app. The first one signs. Tokens and assertions of all of them are accepted. */
export type Keyring = readonly [KeyringKey, ...KeyringKey[]]

export function keyOfSecret(secret: string): KeyringKey {
  const assertionKey = keyOf(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, CONSUMER_KEY_BYTES))
  return { id: keyIdOf(secret, hash), key: keyOf(secret), assertionKey }
}

/** The keys of the apps that share the secret of this deployment. */
export function sharedKeyring(secret: string, previousSecret: string | undefined): Keyring {
  return previousSecret === undefined ? [keyOfSecret(secret)] : [keyOfSecret(secret), keyOfSecret(previousSecret)]
}

/** Those of the keys that may have signed: all with the id, or else the current one. Two secrets can have the same id. */
export function keysWithId(keyring: Keyring, id: string | undefined): readonly KeyringKey[] {
  const named = keyring.filter((key) => key.id === id)
  return named.length > 0 ? named : keyring.slice(0, 1)
}

interface OwnKeyring {
  appId: string
  code: string
  /** Opens the keys on its first call. */
  keyring(): Keyring
}

/**
 * The keys of each app. They are found by the app that a token or an assertion names, never by a key id, and are never tried on
 * one that names another app. So the secret of one app gives no access to another.
 */
export class Keyrings {
  readonly shared: Keyring
  readonly #byId: ReadonlyMap<unknown, OwnKeyring>
  readonly #byCode: ReadonlyMap<unknown, OwnKeyring>

  constructor(shared: Keyring, own: readonly OwnKeyring[] = []) {
    this.shared = shared
    this.#byId = new Map(own.map((each) => [each.appId, each]))
    this.#byCode = new Map(own.map((each) => [each.code, each]))
  }

  /**
   * `appId` is not called if all apps share the secret. Throws if a key of the app cannot be opened, which affects no other app.
   */
  ofApp(appId: () => unknown): Keyring {
    return this.#byId.size === 0 ? this.shared : (this.#byId.get(appId())?.keyring() ?? this.shared)
  }

  /** Like `ofApp`, by the code of the app. */
  ofCode(code: () => unknown): Keyring {
    return this.#byCode.size === 0 ? this.shared : (this.#byCode.get(code())?.keyring() ?? this.shared)
  }
}

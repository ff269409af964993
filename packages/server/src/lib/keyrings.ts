import { hash, hkdfSync, type KeyObject } from 'node:crypto'
import { CONSUMER_KEY_BYTES, CONSUMER_KEY_INFO, keyIdOf } from '@gatehouse/sdk/protocol'
import { keyOf } from './hs256.ts'

/** What is made of a secret: the key of access tokens, and the key of the assertions of consumers that hold it. */
export interface SigningKey {
  id: string
  key: KeyObject
  assertionKey: KeyObject
}

/** The keys of an app. The first one signs; tokens and assertions of all of them are taken. */
export type Keyring = readonly [SigningKey, ...SigningKey[]]

export function signingKeyOf(secret: string): SigningKey {
  const assertionKey = keyOf(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, CONSUMER_KEY_BYTES))
  return { id: keyIdOf(secret, hash), key: keyOf(secret), assertionKey }
}

/** Of the apps that share the secret of this deployment. */
export function sharedKeyring(secret: string, previousSecret: string | undefined): Keyring {
  return previousSecret === undefined ? [signingKeyOf(secret)] : [signingKeyOf(secret), signingKeyOf(previousSecret)]
}

/** Of these keys those that may have signed: all that have the id, or else the one that signs now. Two secrets can have one id. */
export function keysWithId(keyring: Keyring, id: string | undefined): readonly SigningKey[] {
  const named = keyring.filter((key) => key.id === id)
  return named.length > 0 ? named : keyring.slice(0, 1)
}

interface OwnKeyring {
  appId: string
  code: string
  /** Opens the keys at its first call. */
  keyring(): Keyring
}

/**
 * Which keys an app has. They are found by the app that a token or an assertion names, never by a key id, and no app's keys are tried
 * on what names another one: so who holds the secret of one app opens nothing of another.
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

  /** `appId` is not called where all apps share the secret. Throws where a key of the app cannot be opened, which concerns no other app. */
  ofApp(appId: () => unknown): Keyring {
    return this.#byId.size === 0 ? this.shared : (this.#byId.get(appId())?.keyring() ?? this.shared)
  }

  /** The same by the code of the app. */
  ofCode(code: () => unknown): Keyring {
    return this.#byCode.size === 0 ? this.shared : (this.#byCode.get(code())?.keyring() ?? this.shared)
  }
}

import type { KeyMaterial, OpenKeys } from './platform.ts'

/** The secrets of an app, in use. Without Node they are opened when they are first needed: Workers forbid such work while a module loads. */
export interface Keyring {
  opened: OpenKeys | undefined
  open(): Promise<OpenKeys>
}

export function createKeyring(material: KeyMaterial, opened: OpenKeys | undefined): Keyring {
  const keyring: Keyring = {
    opened,
    async open() {
      keyring.opened ??= await (await import('./web-platform.ts')).openWebKeys(material)
      return keyring.opened
    },
  }
  return keyring
}

import type { KeyMaterial, OpenKeys } from './platform.ts'

/** The opened secrets of an app. Without Node, they are opened on first use, since Workers forbid it while a module loads. */
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
